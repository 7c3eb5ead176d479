;;; mtpp-mode.el --- Major mode for mtpp specs -*- lexical-binding: t -*-

;; Version: {{version}}
;; Package-Requires: ((emacs "28.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, comments and indentation of .mtpp files; M-x eglot starts `mtpp lsp'.  The words are those of the grammar.

;;; Code:

(require 'prog-mode)

(defgroup mtpp nil "Specs of mtpp." :group 'languages)

(defcustom mtpp-command '({{command }})
  "The mtpp command, without \"lsp\"."
  :type '(repeat string))

(defvar mtpp-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?_ "_" table)
    table))

(defconst mtpp-font-lock-keywords
  (let ((words (lambda (list) (regexp-opt list 'symbols)))
        (declares '("node" "device" "switch" "type" "block" "param" "let" "def")))
    `((,(concat (funcall words '("constraint" "minimize" "maximize")) "[ \t]+\\([A-Za-z_][A-Za-z0-9_]*\\)[ \t]*:")
       (1 font-lock-keyword-face) (2 font-lock-constant-face))
      (,(concat "\\_<\\(constraint\\)[ \t]+" (funcall words '({{rules }})))
       (1 font-lock-keyword-face) (2 font-lock-preprocessor-face))
      (,(concat (funcall words declares) "[ \t]+\\([A-Za-z_][A-Za-z0-9_]*\\)[ \t]*\\(?:[[(=:\n]\\|$\\)")
       (1 font-lock-keyword-face) (2 font-lock-variable-name-face))
      (,(concat "\\(?:^\\|{\\)[ \t]*" (funcall words '({{statements }})) "[ \t]*\\(?:[^ \t=]\\|$\\)") 1 font-lock-keyword-face)
      (,(concat (funcall words '({{functions }})) "[ \t]*(") 1 font-lock-builtin-face)
      (,(funcall words '({{control }} {{operators }} "on" "in" "by" "from" "as")) . font-lock-keyword-face)
      (,(funcall words '({{constants }})) . font-lock-constant-face)
      (,(concat "\\_<[0-9][0-9_.eE]*[ \t]*" (regexp-opt '({{units }}) t) "\\_>") 1 font-lock-type-face)))
  "Colours of words.")

(defun mtpp-indent-line ()
  "Indent a line by two columns for each bracket that is open before it."
  (interactive)
  (let* ((column (save-excursion
                   (back-to-indentation)
                   (let ((depth (car (syntax-ppss))))
                     (* 2 (if (looking-at "[])}]") (max 0 (1- depth)) depth)))))
         (behind (- (current-column) (current-indentation))))
    (indent-line-to column)
    (when (> behind 0) (forward-char behind))))

;;;###autoload
(define-derived-mode mtpp-mode prog-mode "mtpp"
  "Major mode for specs of mtpp."
  (setq-local comment-start "# "
              comment-start-skip "#+[ \t]*"
              font-lock-defaults '(mtpp-font-lock-keywords)
              indent-line-function #'mtpp-indent-line))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.mtpp\\'" . mtpp-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               (cons '(mtpp-mode) (lambda (&rest _) (append mtpp-command '("lsp" "--stdio"))))))

(provide 'mtpp-mode)
;;; mtpp-mode.el ends here
