/* Names for what the theme leaves without one, and a place in the order of tabs for tables that scroll. */
(() => {
  let blocks = 0
  const name = () => {
    document.querySelector(".md-search")?.setAttribute("aria-label", "Search")
    for (const table of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
      table.setAttribute("tabindex", "0")
      table.setAttribute("role", "group")
      table.setAttribute("aria-label", "Table")
    }
    for (const nav of document.querySelectorAll(".md-code__nav:not([aria-label])")) {
      blocks += 1
      nav.setAttribute("aria-label", `Code block ${blocks}`)
    }
  }
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true })
  name()
})()
