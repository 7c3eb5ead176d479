// The graph: opens and folds modules, finds nodes, and says what a box is. It draws what graph.py draws.
(() => {
  const data = figures.data("graph-data");
  const picture = document.getElementById("graph-picture");
  if (!data || !picture) return;
  const WIDTH = 152, HEIGHT = 30, GAP = 10, ROW_GAP = 20, COLUMN_GAP = 64, PAD = 10, HEAD = 26, TOP = 76;
  const NEAR = 60, BELOW = 14, LANE = 6, LANES = 8;
  const PER_LINE = 3, TINTS = 12, BAR = 3, LETTER = 7.2, TITLE = 8.6, LABELS = 64, ALONG = [0.5, 0.36, 0.64, 0.24, 0.76, 0.12, 0.88], FOUND = 12, LISTED = 6;
  const { parent, node, source, target } = data;
  const count = parent.length, columns = data.columns.length;
  const row = figures.column(data.row), kinds = figures.column(data.kinds), labels = figures.column(data.labels);
  const memory = figures.column(data.memory), params = figures.column(data.params);
  const lines = data.lines.map((file) => ({ ...file, line: figures.column(file.line) }));
  const output = figures.column(data.output), carried = figures.column(data.carried);
  const children = Array.from({ length: count }, () => []);
  const column = new Array(count), size = new Array(count).fill(0), time = new Array(count).fill(0), name = new Array(count);
  const items = new Map();
  let opened = new Set(data.open), boxes = new Map(), current = -1;

  function prepare() {
    const leaf = figures.column(data.time);
    let leaves = 0, modules = 0;
    for (let item = 0; item < count; item += 1) {
      column[item] = parent[item] < 0 ? item : column[parent[item]];
      if (parent[item] >= 0) children[parent[item]].push(item);
      if (node[item] >= 0) {
        const v = node[item], own = data.names[v], label = labels && labels[v];
        name[item] = label && /^[A-Za-z]?\[?[0-9]+\]?$/.test(own) ? own + " " + label : own.trim() ? own : "(node " + (v + 1) + ")";
        time[item] = leaf[leaves];
        size[item] = 1;
        leaves += 1;
        if (!items.has(v)) items.set(v, []);
        items.get(v).push(item);
      } else {
        name[item] = data.modules[modules];
        modules += 1;
      }
    }
    for (let item = count - 1; item >= 0; item -= 1) {
      if (parent[item] < 0) continue;
      size[parent[item]] += size[item];
      time[parent[item]] = time[item] === null || time[parent[item]] === null ? null : time[parent[item]] + time[item];
    }
  }

  const asTime = (value) => figures.quantity(value, data.unit.time, false);
  const asSize = (value) => figures.quantity(value, data.unit.size, data.unit.decimal);
  const asMemory = (value) => figures.quantity(value, data.unit.memory, data.unit.decimal);
  const counted = (number, what) => number.toLocaleString("en-US") + " " + what + (number === 1 ? "" : "s");

  // Where boxes are: as places.py.
  function linesOf(item) {
    const rows = new Map(), lines = [];
    for (const child of children[item]) {
      if (!rows.has(row[child])) rows.set(row[child], []);
      rows.get(row[child]).push(child);
    }
    for (const members of rows.values()) {
      const each = Math.ceil(members.length / Math.ceil(members.length / PER_LINE));
      for (let i = 0; i < members.length; i += each) lines.push(members.slice(i, i + each));
    }
    return lines;
  }

  function arrange() {
    const sizes = new Map(), lines = new Map();
    boxes = new Map();
    function measure(item) {
      let found = [WIDTH, HEIGHT];
      if (opened.has(item) && children[item].length) {
        lines.set(item, linesOf(item));
        let width = 0, height = 0;
        for (const line of lines.get(item)) {
          const each = line.map(measure);
          width = Math.max(width, each.reduce((sum, box) => sum + box[0], GAP * (line.length - 1)));
          height += Math.max(...each.map((box) => box[1])) + ROW_GAP;
        }
        found = [width + 2 * PAD, height - ROW_GAP + (parent[item] < 0 ? TOP : HEAD) + PAD];
      }
      sizes.set(item, found);
      return found;
    }
    function put(item, x, top) {
      const [width, height] = sizes.get(item);
      boxes.set(item, { item, x, y: top, width, height, open: lines.has(item) });
      let y = top + (parent[item] < 0 ? TOP : HEAD);
      for (const line of lines.get(item) || []) {
        const across = line.reduce((sum, child) => sum + sizes.get(child)[0], GAP * (line.length - 1));
        let left = x + Math.floor((width - across) / 2);
        for (const child of line) {
          put(child, left, y);
          left += sizes.get(child)[0] + GAP;
        }
        y += Math.max(...line.map((child) => sizes.get(child)[1])) + ROW_GAP;
      }
    }
    let x = 0, tall = 0;
    for (let item = 0; item < columns; item += 1) {
      const [width, height] = measure(item);
      put(item, x, 0);
      x += width + COLUMN_GAP;
      tall = Math.max(tall, height);
    }
    return [Math.max(x - COLUMN_GAP, WIDTH), tall];
  }

  // Lines between boxes: as lines.py.
  function seenItems() {
    const seen = new Array(count);
    for (let item = 0; item < count; item += 1) {
      const above = parent[item];
      seen[item] = above < 0 || (seen[above] === above && boxes.get(above).open) ? item : seen[above];
    }
    return seen;
  }

  function bundles() {
    const seen = seenItems(), found = new Map();
    for (let e = 0; e < source.length; e += 1) {
      const a = seen[source[e]], b = seen[target[e]];
      if (a === b) continue;
      const key = a * count + b;
      if (!found.has(key)) found.set(key, new Map());
      const tensors = found.get(key);
      tensors.set(source[e], Math.max(tensors.get(source[e]) || 0, carried[e]));
    }
    const lanes = new Map();
    return Array.from(found.keys()).sort((one, other) => one - other).map((key) => {
      const tensors = found.get(key), a = Math.floor(key / count), b = key % count;
      let sum = 0;
      for (const value of tensors.values()) sum += value;
      if (Math.abs(column[a] - column[b]) > 1 && !lanes.has(a)) lanes.set(a, lanes.size % LANES);
      const points = routed(boxes.get(a), boxes.get(b), lanes.get(a) || 0);
      return { source: a, target: b, tensors: tensors.size, size: sum, points };
    });
  }

  function routed(a, b, lane) {
    const y = a.y + a.height / 2, end = b.y + b.height / 2, gap = b.y - a.y - a.height;
    if (column[a.item] !== column[b.item]) return across(a, b, lane);
    if (gap >= 0 && (gap <= NEAR || parent[a.item] !== parent[b.item])) {
      const x = a.x + a.width / 2, to = b.x + b.width / 2;
      return [[x, a.y + a.height], [x, a.y + a.height + gap / 2], [to, b.y - gap / 2], [to, b.y]];
    }
    const x = a.x + a.width, to = b.x + b.width;
    const out = Math.max(x, to) + 14 + Math.min(Math.abs(gap) / 16, 26);
    return [[x, y], [out, y], [out, end], [to, end]];
  }

  function across(a, b, lane) {
    const one = column[a.item], other = column[b.item], way = one < other ? 1 : -1;
    const x = way > 0 ? a.x + a.width : a.x, to = way > 0 ? b.x : b.x + b.width;
    const y = a.y + a.height / 2, end = b.y + b.height / 2;
    if (Math.abs(one - other) === 1) {
      const reach = Math.max(Math.abs(to - x) / 2, COLUMN_GAP / 2) * way;
      return [[x, y], [x + reach, y], [to - reach, end], [to, end]];
    }
    let low = 0;
    for (let passed = Math.min(one, other) + 1; passed < Math.max(one, other); passed += 1) {
      low = Math.max(low, boxes.get(passed).height);
    }
    low += BELOW + LANE * lane;
    const start = boxes.get(one), stop = boxes.get(other), bend = (COLUMN_GAP / 2) * way;
    const down = way > 0 ? start.x + start.width : start.x, up = way > 0 ? stop.x : stop.x + stop.width;
    return [
      [x, y], [down + bend, y], [down + bend, low], [down + 2 * bend, low],
      [down + 2 * bend, low], [up - 2 * bend, low], [up - 2 * bend, low],
      [up - bend, low], [up - bend, end], [to, end],
    ];
  }

  // Elements: as graph.py.
  const tint = (item) => "s" + (column[item] % TINTS);

  function group(kind, members) {
    const found = figures.drawn("g", { class: kind });
    found.append(...members);
    return found;
  }

  function columnBox(box) {
    const [title, load, nodes] = data.columns[box.item], width = box.width - 12;
    const own = group(tint(box.item), [
      figures.drawn("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 8, class: "column" }),
      figures.drawn("rect", { x: box.x, y: box.y, width: box.width, height: 6, rx: 3, class: "band" }),
    ]);
    for (const [text, y, kind, wide] of [[title, 28, "title", TITLE], [load, 46, "small", LETTER], [nodes, 62, "small", LETTER]]) {
      const letters = Math.floor(width / wide);
      const written = figures.drawn("text", { x: box.x + 10, y: box.y + y, class: kind }, figures.short(text, letters));
      written.append(figures.drawn("title", {}, text));
      own.append(written);
    }
    return own;
  }

  function lineOf(line, largest) {
    const points = line.points.map(([x, y]) => figures.place(x) + "," + figures.place(y));
    const inside = column[line.source] === column[line.target];
    const path = figures.drawn("path", {
      d: "M" + points[0] + "C" + points.slice(1).join(" "),
      "stroke-width": figures.place(1.2 + 2.2 * (largest > 0 ? line.size / largest : 0)),
      class: inside ? "flow" : "flow between",
      "data-from": line.source,
      "data-to": line.target,
    });
    path.append(figures.drawn("title", {}, name[line.source] + " to " + name[line.target] + ": " + amount(line)));
    return path;
  }

  const amount = (line) => (line.tensors > 1 ? counted(line.tensors, "tensor") + ", " : "") + asSize(line.size);

  /** Return where a label stands at a share of a curve, a little above it. */
  function onCurve(points, share) {
    const left = 1 - share, weights = [left ** 3, 3 * left ** 2 * share, 3 * left * share ** 2, share ** 3];
    const at = (axis) => points.reduce((sum, point, i) => sum + weights[i] * point[axis], 0);
    return [at(0), at(1) - 4];
  }

  function labelTexts(lines) {
    const between = lines.filter((line) => column[line.source] !== column[line.target] && line.size > 0);
    between.sort((a, b) => b.size - a.size || a.source - b.source || a.target - b.target);
    const found = [], solid = Array.from(boxes.values()).filter((box) => !box.open);
    const free = ([across, down]) =>
      found.every(([, p, q]) => Math.abs(across - p) >= 60 || Math.abs(down - q) >= 14) &&
      !solid.some((box) => across > box.x - 30 && across < box.x + box.width + 30 &&
        down > box.y - 2 && down < box.y + box.height + 12);
    for (const line of between) {
      const middle = 3 * Math.floor(line.points.length / 6), curve = line.points.slice(middle, middle + 4);
      const place = (line.points.length > 4 ? ALONG : ALONG.slice(0, 1)).map((share) => onCurve(curve, share)).find(free);
      if (place && found.length < LABELS) found.push([line, ...place]);
    }
    return found.map(([line, x, y]) =>
      figures.drawn("text", { x: figures.place(x), y: figures.place(y), class: "carried" }, asSize(line.size)));
  }

  function boxOf(box) {
    const item = box.item, module = node[item] < 0, open = box.open;
    const number = module ? size[item].toLocaleString("en-US") : "", sign = module ? (open ? "▾ " : "▸ ") : "";
    const letters = Math.floor((box.width - 16) / LETTER) - number.length - sign.length;
    const height = open ? HEAD : box.height;
    const own = figures.drawn("g", {
      class: "box " + tint(item) + (open ? " open" : module ? " folded" : ""),
      role: "button",
      tabindex: item === current ? "0" : "-1",
      "aria-expanded": module ? String(open) : null,
      "aria-label": said(item, open),
      "data-item": item,
    });
    own.append(
      figures.drawn("title", {}, name[item]),
      figures.drawn("rect", { x: box.x, y: box.y, width: box.width, height, rx: 5, class: "face" }),
      figures.drawn("text", { x: box.x + 8, y: box.y + 18 }, sign + figures.short(name[item], Math.max(letters, 4))),
    );
    if (number) own.append(figures.drawn("text", { x: box.x + box.width - 8, y: box.y + 18, class: "count" }, number));
    const length = data.columns[column[item]][4];
    if (length > 0 && time[item] > 0 && !open) {
      const width = figures.place(Math.max((box.width - 10) * Math.min(time[item] / length, 1), 1));
      own.append(figures.drawn("rect", { x: box.x + 5, y: box.y + height - BAR - 2, width, height: BAR, class: "takes" }));
    }
    return own;
  }

  function said(item, open) {
    const parts = [name[item]];
    if (node[item] < 0) parts.push("module of " + counted(size[item], "node") + (open ? "" : ", folded"));
    const where = data.planned ? "on " + data.columns[column[item]][3] : "";
    const takes = (asTime(time[item]) + " " + where).trim();
    if (takes) parts.push(takes);
    return parts.join(", ");
  }

  function draw() {
    const [wide, tall] = arrange();
    const all = Array.from(boxes.values()), shown = all.filter((box) => parent[box.item] >= 0);
    if (!boxes.has(current) || parent[current] < 0) current = shown.length ? shown[0].item : -1;
    const lines = bundles(), largest = lines.reduce((most, line) => Math.max(most, line.size), 0);
    const reach = (place, least) => figures.place(lines.reduce(
      (most, line) => Math.max(most, ...line.points.map((point) => point[place] + 6)), least) + 2);
    const width = reach(0, wide), height = reach(1, tall);
    const backs = shown.filter((box) => box.open).map((box) =>
      figures.drawn("rect", {
        x: box.x, y: box.y, width: box.width, height: box.height, rx: 6, class: "module " + tint(box.item),
      }));
    picture.replaceChildren(
      picture.querySelector("defs"),
      group("columns", all.filter((box) => parent[box.item] < 0).map(columnBox)),
      group("modules", backs),
      group("lines", lines.map((line) => lineOf(line, largest))),
      group("boxes", shown.map(boxOf)),
      group("labels", labelTexts(lines)),
    );
    picture.setAttribute("viewBox", "-1 -1 " + width + " " + height);
    picture.setAttribute("width", width);
    picture.setAttribute("height", height);
    figures.readable(picture);
  }

  // What the reader does.
  const panel = document.getElementById("graph-details");

  function element(item) {
    return picture.querySelector('.box[data-item="' + item + '"]');
  }

  /** Mark a box and say what it is; a node is told to the rest of the page, too. */
  function choose(item, focus) {
    const before = current;
    mark(item, focus);
    if (node[item] >= 0 && item !== before) {
      document.dispatchEvent(new CustomEvent("mtpp:choose", { detail: { kind: "node", index: node[item] } }));
    }
  }

  function mark(item, focus) {
    const before = element(current);
    if (before) before.setAttribute("tabindex", "-1");
    current = item;
    const own = element(item);
    own.setAttribute("tabindex", "0");
    if (focus) {
      own.focus({ preventScroll: true });
      own.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    for (const line of picture.querySelectorAll(".flow")) {
      const near = line.dataset.from === String(item) || line.dataset.to === String(item);
      line.classList.toggle("near", near);
    }
    describe(item);
  }

  function describe(item) {
    const v = node[item], pairs = [];
    if (data.planned) pairs.push(["Stage", data.columns[column[item]][0]]);
    if (v < 0) pairs.push(["Nodes", size[item].toLocaleString("en-US")]);
    if (v >= 0 && kinds) pairs.push(["Kind", kinds[v]]);
    if (v >= 0 && labels) pairs.push(["Label", labels[v]]);
    const whole = time[column[item]], share = time[item] > 0 && whole > 0 ? time[item] / whole : null;
    const part = share === null ? "" : " (" + Math.round(100 * share) + "% of the work of its stage)";
    pairs.push(["Time there", time[item] === null ? "" : asTime(time[item]) + part]);
    if (v >= 0) {
      pairs.push(["Memory", asMemory(memory[v])]);
      if (params) pairs.push(["Parameters", asSize(params[v])]);
      pairs.push(["Its tensor", asSize(output[v])]);
    }
    const [reads, writes] = neighbours(item);
    const made = v < 0 ? undefined : lines.find((file) => file.line[v]);
    if (made) pairs.push(["In the spec", lineOfSpec(made, made.line[v])]);
    pairs.push(["Reads", reads], ["Read by", writes], ["Module", way(item)]);
    figures.describe(panel, name[item], pairs);
  }

  /** Return a link to the line of the spec that makes a node, or to the statement that it is in. */
  function lineOfSpec(made, line) {
    let shown = line;
    while (shown > 0 && !document.getElementById(made.anchor + shown)) shown -= 1;
    const called = "line " + line + (made.file ? " of " + made.file : "");
    if (!shown) return called;
    return figures.made("a", called, { href: "#" + made.anchor + shown });
  }

  function way(item) {
    const found = [];
    for (let above = parent[item]; above >= columns; above = parent[above]) found.unshift(name[above]);
    return found.join(" / ");
  }

  /** Return in words what the nodes of an item read from outside of it, and who reads theirs. */
  function neighbours(item) {
    const inside = new Array(count).fill(false), one = new Map(), other = new Map();
    for (let i = item; i < count; i += 1) inside[i] = i === item || (parent[i] >= 0 && inside[parent[i]]);
    for (let e = 0; e < source.length; e += 1) {
      const a = inside[source[e]], b = inside[target[e]];
      if (a === b) continue;
      const found = a ? other : one, far = a ? target[e] : source[e];
      found.set(far, Math.max(found.get(far) || 0, carried[e]));
    }
    return [one, other].map((found) => {
      const far = Array.from(found).sort((x, y) => y[1] - x[1]).slice(0, LISTED);
      const words = far.map(([i, amount]) => name[i] + " (" + asSize(amount) + place(item, i) + ")");
      if (found.size > far.length) words.push((found.size - far.length).toLocaleString("en-US") + " more");
      return words.join(", ");
    });
  }

  const place = (item, far) => (column[item] === column[far] ? "" : ", " + data.columns[column[far]][3]);

  function toggle(item) {
    if (node[item] >= 0) return;
    if (opened.has(item)) opened.delete(item);
    else opened.add(item);
    redraw(item);
  }

  function redraw(item) {
    const focus = picture.contains(document.activeElement);
    current = item;
    draw();
    if (boxes.has(item)) choose(item, focus);
  }

  /** Return the next box in a direction: the nearest whose middle lies there. */
  function beside(item, across, down) {
    const from = boxes.get(item);
    const middle = (box) => [box.x + box.width / 2, box.y + (box.open ? HEAD : box.height) / 2];
    const [x, y] = middle(from);
    let best = -1, least = Infinity;
    for (const box of boxes.values()) {
      if (box.item === item || parent[box.item] < 0) continue;
      const [u, v] = middle(box), ahead = (u - x) * across + (v - y) * down;
      const aside = Math.abs((u - x) * down) + Math.abs((v - y) * across);
      if (ahead < 4) continue;
      const far = ahead + 3 * aside;
      if (far < least) [best, least] = [box.item, far];
    }
    return best;
  }

  const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  picture.addEventListener("keydown", (event) => {
    const own = event.target.closest(".box");
    if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
    const item = Number(own.dataset.item), way = DIRECTIONS[event.key];
    if (way) {
      const next = beside(item, way[0], way[1]);
      if (next >= 0) choose(next, true);
    } else if (event.key === "Enter" || event.key === " ") {
      if (node[item] < 0) toggle(item);
      else choose(item, true);
    } else if (event.key === "Home" || event.key === "End") {
      const shown = Array.from(boxes.values()).filter((box) => parent[box.item] >= 0);
      choose((event.key === "Home" ? shown[0] : shown[shown.length - 1]).item, true);
    } else return;
    event.preventDefault();
  });
  picture.addEventListener("click", (event) => {
    const own = event.target.closest(".box");
    if (!own) return;
    const item = Number(own.dataset.item);
    choose(item, true);
    toggle(item);
  });
  picture.addEventListener("focusin", (event) => {
    const own = event.target.closest(".box");
    if (own && Number(own.dataset.item) !== current) choose(Number(own.dataset.item), false);
  });

  // All modules, the width, and the search.
  function unfold() {
    const folded = Array.from(boxes.values()).filter((box) => node[box.item] < 0 && !box.open);
    for (const box of folded) opened.add(box.item);
    redraw(current);
  }

  function fold() {
    const shown = Array.from(boxes.values()).filter((box) => box.open && parent[box.item] >= 0);
    const inner = shown.filter((box) => !children[box.item].some((child) => boxes.get(child).open));
    for (const box of inner) opened.delete(box.item);
    let item = current;
    while (parent[item] >= columns && !opened.has(parent[item])) item = parent[item];
    redraw(item);
  }

  function reveal(v, focus) {
    const item = items.get(v)[0];
    for (let above = parent[item]; above >= 0; above = parent[above]) opened.add(above);
    draw();
    if (focus) {
      choose(item, true);
      element(item).scrollIntoView({ block: "center", inline: "center" });
    } else mark(item, false);
  }

  document.addEventListener("mtpp:choose", (event) => {
    const { kind, index } = event.detail;
    if (kind === "node" && items.has(index) && node[current] !== index) reveal(index, false);
  });

  const field = document.getElementById("graph-search"), results = document.getElementById("graph-results");
  const told = document.getElementById("graph-found");
  let lower = null;

  function matches(text) {
    lower = lower || data.names.map((own, v) => (own + " " + ((labels && labels[v]) || "")).toLowerCase());
    const wanted = text.toLowerCase(), first = [], others = [];
    for (let v = 0; v < lower.length; v += 1) {
      const at = lower[v].indexOf(wanted);
      if (at >= 0) (at === 0 ? first : others).push(v);
    }
    return first.concat(others);
  }

  function search() {
    const text = field.value.trim(), found = text ? matches(text) : [];
    results.replaceChildren(...found.slice(0, FOUND).map((v) => {
      const entry = figures.made("li"), button = figures.made("button", name[items.get(v)[0]], { type: "button" });
      button.addEventListener("click", () => reveal(v, true));
      entry.append(button);
      return entry;
    }));
    const more = found.length > FOUND ? "; the first " + FOUND + " are listed" : "";
    told.textContent = text ? (found.length ? counted(found.length, "node") + more : "No node is called so.") : "";
  }

  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const found = field.value.trim() ? matches(field.value.trim()) : [];
    if (found.length) reveal(found[0], true);
  });
  document.getElementById("graph-more").addEventListener("click", unfold);
  document.getElementById("graph-less").addEventListener("click", fold);
  document.getElementById("graph-fit").addEventListener("click", (event) => {
    const fit = picture.classList.toggle("fit");
    figures.readable(picture);
    event.target.setAttribute("aria-pressed", String(fit));
  });
  prepare();
  arrange();
  for (const box of boxes.values()) {
    if (current < 0 && parent[box.item] >= 0) current = box.item;
  }
  document.getElementById("graph-controls").hidden = false;
})();
