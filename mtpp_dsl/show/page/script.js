"use strict";
// The script of every page: the theme, the navigation, what is printed, and the table of nodes.
// It writes text by textContent alone, and reads what it shows from blocks of JSON.
(() => {
  const root = document.documentElement;
  const find = (id) => document.getElementById(id);
  const make = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const choose = (kind, index) =>
    document.dispatchEvent(new CustomEvent("mtpp:choose", { detail: { kind, index } }));

  // Theme: that of the system until somebody chooses the other one.
  const button = find("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("mtpp-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("mtpp-theme", theme); } catch { /* a file may keep nothing */ } };
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const told = () => { button.textContent = theme() === "dark" ? "Light page" : "Dark page"; };
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    keep(root.dataset.theme);
    told();
  });
  dark.addEventListener("change", told);
  told();

  // Navigation: the section that is in view is the current one.
  const links = new Map([...document.querySelectorAll("nav.sections a")].map((a) => [a.hash.slice(1), a]));
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    let current = null;
    for (const [id, link] of links) {
      link.removeAttribute("aria-current");
      if (current === null && seen.has(id)) current = link;
    }
    if (current) current.setAttribute("aria-current", "true");
  }, { rootMargin: "-10% 0px -70% 0px" });
  for (const id of links.keys()) if (find(id)) watcher.observe(find(id));

  // What is folded is open on paper, and again as it was afterwards.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of folded) each.open = false; });

  // A link to something folded, or to a section that is folded, opens it.
  const unfold = (hash) => {
    const target = hash && find(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    const own = target.querySelector(":scope > details.whole");
    for (let at = own || target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", () => unfold(location.hash));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) unfold(link.hash);
  });
  unfold(location.hash);

  // The table of nodes.
  const block = find("nodes-data");
  if (block) nodes(JSON.parse(block.textContent));

  function nodes(data) {
    const PAGE = 100;
    const table = find("nodes-table"), body = table.tBodies[0], more = find("nodes-more");
    const search = find("nodes-search"), where = find("nodes-device"), status = find("nodes-count");
    const columns = data.columns, count = columns[0].values.length;
    const lower = columns.map((c) => (c.values && c.unit === undefined ? c.values.map((x) => String(x).toLowerCase()) : null));
    let order = [...Array(count).keys()], found = order, shown = 0, sorted = null, chosen = -1;
    const placed = columns.find((c) => c.devices);
    const on = (v) => (placed ? [].concat(placed.devices[v]) : []);
    const figure = (x) => (x === null ? "" : String(Number(x.toPrecision(5))));

    const called = (text) => make("bdi", text, [...text].length > 40 ? "name long" : "name");
    const row = (v) => {
      const made = make("tr");
      made.dataset.node = v;
      if (v === chosen) made.className = "chosen";
      columns.forEach((column, i) => {
        const cell = make(i ? "td" : "th");
        if (!i) cell.scope = "row";
        if (column.devices) {
          on(v).forEach((d, j) => {
            if (j) cell.append(", ");
            cell.append(called(data.devices[d]));
          });
        } else if (column.unit !== undefined) {
          cell.className = "figure";
          cell.textContent = figure(column.values[v]);
        } else cell.append(called(column.values[v]));
        made.append(cell);
      });
      return made;
    };
    const tell = () => {
      const all = found.length === count ? "" : " that were found";
      const part = shown < found.length ? `${shown.toLocaleString("en")} of ` : "";
      status.textContent = `${part}${found.length.toLocaleString("en")} ${found.length === 1 ? "node" : "nodes"}${all}`;
      find("nodes-paging").hidden = shown >= found.length;
    };
    const grow = (by) => {
      const next = found.slice(shown, shown + by);
      body.append(...next.map(row));
      shown += next.length;
      tell();
    };
    const again = () => { body.replaceChildren(); shown = 0; grow(PAGE); };
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const device = where && where.value !== "" ? Number(where.value) : null;
      found = order.filter((v) =>
        words.every((word) => lower.some((texts) => texts && texts[v].includes(word)))
        && (device === null || on(v).includes(device)));
      again();
    };
    const sort = (i) => {
      const down = sorted && sorted.column === i && !sorted.down;
      sorted = { column: i, down };
      const column = columns[i];
      const key = column.devices ? (v) => on(v)[0] : (v) => column.values[v];
      const text = !column.devices && column.unit === undefined;
      order = [...Array(count).keys()].sort((a, b) => {
        const x = key(a), y = key(b);
        const by = text ? x.localeCompare(y, "en", { numeric: true }) : (x === null) - (y === null) || x - y;
        return (down ? -by : by) || a - b;
      });
      [...table.tHead.rows[0].cells].forEach((cell, j) => {
        if (j === i) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        else cell.removeAttribute("aria-sort");
      });
      filter();
    };
    [...table.tHead.rows[0].cells].forEach((cell, i) => {
      const press = make("button", cell.textContent);
      press.type = "button";
      press.addEventListener("click", () => sort(i));
      cell.replaceChildren(press);
    });
    let waiting = 0;
    search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
    if (where) where.addEventListener("change", filter);
    more.addEventListener("click", () => {
      const at = body.rows.length;
      grow(PAGE * 5);
      const next = body.rows[at];
      if (next) { next.tabIndex = -1; next.focus({ preventScroll: true }); }
    });
    body.addEventListener("click", (event) => {
      const at = event.target.closest("tr");
      if (at) choose("node", Number(at.dataset.node));
    });
    document.addEventListener("mtpp:choose", (event) => {
      if (event.detail.kind !== "node") return;
      chosen = event.detail.index;
      for (const each of body.rows) each.classList.toggle("chosen", Number(each.dataset.node) === chosen);
    });
    addEventListener("beforeprint", () => { if (found.length <= 2000) grow(found.length); });
    find("nodes-controls").hidden = false;
    filter();
  }
})();
