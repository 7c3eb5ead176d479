-- Comments, and `mtpp lsp` for each buffer with a spec. The command can be set before: vim.g.mtpp_command = { ... }
vim.bo.commentstring = "# %s"
vim.bo.comments = ":#"

local command = vim.deepcopy(vim.g.mtpp_command or {{command}})
vim.list_extend(command, { "lsp", "--stdio" })
local root = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ":p:h")

if vim.fn.executable(command[1]) == 0 then
  vim.notify_once("mtpp: cannot run " .. command[1] .. "; set vim.g.mtpp_command", vim.log.levels.WARN)
elseif vim.lsp.start then
  vim.lsp.start({ name = "mtpp", cmd = command, root_dir = root })
else -- before Neovim 0.8
  mtpp_clients = mtpp_clients or {}
  local id = mtpp_clients[root]
  if not id or vim.lsp.client_is_stopped(id) then
    id = vim.lsp.start_client({ name = "mtpp", cmd = command, root_dir = root })
    mtpp_clients[root] = id
  end
  if id then
    vim.lsp.buf_attach_client(0, id)
  end
end
