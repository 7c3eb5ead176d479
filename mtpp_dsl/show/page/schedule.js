// The schedule: zooms, moves, and says what a bar is. It draws what schedule.py draws, of any part of the time.
(() => {
  const data = figures.data("gantt-data");
  const picture = document.getElementById("gantt");
  if (!data || !picture) return;
  const LABEL = 130, AXIS = 26, LEAST = 1.5, BIN = 2, TICKS = 8, LETTER = 7.0, MIN_LETTERS = 6, TEXT_ROW = 14, NARROW = 360;
  const graph = figures.data("graph-data"), to = figures.column(data.to), beside = figures.column(data.beside);
  const names = data.of.map((v, i) =>
    (v < 0 ? "" : graph.names[v]) + (to[i] < 0 ? "" : " -> " + graph.names[to[i]]) + beside[i]);
  const kinds = figures.column(data.kind), lanes = figures.column(data.lane), waits = figures.column(data.waited);
  const starts = data.start, lengths = figures.column(data.length), slack = figures.column(data.slack);
  const batch = figures.column(data.batch), sizes = figures.column(data.size);
  const count = starts.length, trackOf = new Array(count), first = [];
  const critical = new Map(data.critical.map((activity, place) => [activity, [place, waits[place]]]));
  const frame = document.getElementById("gantt-frame"), panel = document.getElementById("gantt-details");
  const LABELLED = new Set(["node", "forward", "backward"]);
  const REASONS = {
    first: "nothing: it is the first", data: "its data", device: "its device", link: "its link", nothing: "nothing",
  };
  const KINDS = { transfer: "transfer", read: "read", write: "write", stream: "parameters streamed",
    reserve: "time in reserve", exchange: "exchange of weights", forward: "forward pass", backward: "backward pass" };
  let begin = 0, end = data.end, current = -1, total = 1000;
  data.tracks.reduce((from, track, t) => {
    first.push(from);
    for (let i = from; i < from + track[5]; i += 1) trackOf[i] = t;
    return from + track[5];
  }, 0);
  const ends = starts.map((start, i) => start + lengths[i]);
  const asTime = (value) => figures.quantity(value, data.unit.time, false);
  const place = figures.place;

  function bars(width) {
    const scale = end > begin ? width / (end - begin) : 0, drawn = [];
    data.tracks.forEach((track, t) => {
      const [, top, height, laneCount, , held] = track, each = height / laneCount, filled = new Map();
      for (let i = first[t]; i < first[t] + held; i += 1) {
        if (ends[i] <= begin || starts[i] >= end) continue;
        const x = (Math.max(starts[i], begin) - begin) * scale, to = (Math.min(ends[i], end) - begin) * scale;
        const y = top + lanes[i] * each;
        if (to - x >= LEAST) drawn.push({ i, t, x, y, width: to - x, height: each });
        else {
          const key = Math.floor(x / BIN) * 64 + lanes[i];
          filled.set(key, (filled.get(key) || 0) + to - x);
        }
      }
      for (const key of Array.from(filled.keys()).sort((a, b) => a - b)) {
        const y = top + (key % 64) * each, share = Math.min(filled.get(key) / BIN, 1);
        drawn.push({ i: -1, t, x: Math.floor(key / 64) * BIN, y, width: BIN, height: each, share });
      }
    });
    return drawn;
  }

  function ticks() {
    const length = (end - begin) / data.unit.factor;
    if (!(length > 0)) return [begin];
    const least = length / TICKS, power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((size) => power * size >= least * (1 - 1e-9));
    const from = Math.ceil(begin / data.unit.factor / step - 1e-9);
    const last = Math.floor(end / data.unit.factor / step + 1e-9);
    return Array.from({ length: last - from + 1 }, (_, i) => (from + i) * step * data.unit.factor);
  }

  function axis(width) {
    const group = figures.drawn("g", { class: "axis" });
    for (const time of ticks()) {
      const x = place(LABEL + (end > begin ? ((time - begin) / (end - begin)) * width : 0));
      group.append(
        figures.drawn("line", { x1: x, x2: x, y1: AXIS - 6, y2: data.height, class: "grid" }),
        figures.drawn("text", { x, y: 14, class: "tick" }, (figures.value(time / data.unit.factor) + " " + data.unit.axis).trim()),
      );
    }
    return group;
  }

  function label(i) {
    if (!LABELLED.has(kinds[i])) return "";
    return batch && batch[i] !== null ? String(batch[i] + 1) : names[i];
  }

  function drawnBar(bar) {
    const tint = data.tracks[bar.t][4] >= 0 ? " s" + data.tracks[bar.t][4] : "";
    const where = { x: place(bar.x), y: place(bar.y), width: place(bar.width), height: place(bar.height - 1) };
    if (bar.i < 0) return [figures.drawn("rect", { ...where, class: "many" + tint, "fill-opacity": place(0.2 + 0.8 * bar.share) })];
    const marked = critical.has(bar.i), chosen = bar.i === current;
    const own = figures.drawn("rect", {
      ...where, class: "act " + kinds[bar.i] + tint + (marked ? " critical" : "") + (chosen ? " chosen" : ""), "data-activity": bar.i,
    });
    own.append(figures.drawn("title", {}, names[bar.i]));
    const parts = [own];
    if (marked) parts.push(figures.drawn("rect", { x: where.x, y: where.y, width: where.width, height: 3, class: "edge" }));
    const letters = Math.floor((bar.width - 6) / LETTER), text = label(bar.i);
    if (bar.height >= TEXT_ROW && text && (letters >= text.length || letters >= MIN_LETTERS)) {
      const at = { x: place(bar.x + 4), y: place(bar.y + bar.height / 2 + 4), class: "inside" + tint };
      parts.push(figures.drawn("text", at, figures.short(text, letters)));
    }
    return parts;
  }

  function draw() {
    const width = total - LABEL - 10, shown = figures.drawn("g", { class: "bars", transform: "translate(" + LABEL + ",0)" });
    for (const bar of bars(width)) shown.append(...drawnBar(bar));
    picture.replaceChildren(axis(width), picture.querySelector(".names"), shown);
    picture.setAttribute("viewBox", "0 0 " + total + " " + data.height);
    picture.setAttribute("width", total);
  }

  let waiting = false;
  function redraw() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  }

  function show(from, to) {
    const length = Math.min(Math.max(to - from, data.end * 1e-6), data.end);
    begin = Math.min(Math.max(from, 0), data.end - length);
    end = begin + length;
    redraw();
  }

  function zoom(factor, around) {
    const middle = around === undefined ? (begin + end) / 2 : around;
    show(middle - (middle - begin) * factor, middle + (end - middle) * factor);
  }

  const move = (share) => show(begin + share * (end - begin), end + share * (end - begin));

  function choose(i) {
    current = i;
    const length = end - begin;
    if (ends[i] < begin || starts[i] > end || (starts[i] < begin && ends[i] > end)) {
      const middle = (starts[i] + ends[i]) / 2, wide = Math.max(length, lengths[i] * 1.2);
      show(middle - wide / 2, middle + wide / 2);
    } else if (starts[i] < begin || ends[i] > end) {
      const by = starts[i] < begin ? starts[i] - begin : ends[i] - end;
      show(begin + by, end + by);
    }
    if (lengths[i] > 0 && (lengths[i] / (end - begin)) * (total - LABEL) < LEAST) {
      const wide = (lengths[i] * (total - LABEL)) / 8, middle = (starts[i] + ends[i]) / 2;
      show(middle - wide / 2, middle + wide / 2);
    }
    redraw();
    describe(i);
  }

  function describe(i) {
    const pairs = [["On", data.tracks[trackOf[i]][0]], ["Kind", KINDS[kinds[i]] || ""]];
    if (batch && batch[i] !== null) pairs.push(["Microbatch", String(batch[i] + 1)]);
    pairs.push(["Start", asTime(starts[i])], ["End", asTime(ends[i])], ["Takes", asTime(lengths[i])]);
    if (sizes && sizes[i]) pairs.push(["Size", figures.quantity(sizes[i], data.unit.size, data.unit.decimal)]);
    if (slack) pairs.push(["Slack", asTime(slack[i])]);
    if (critical.has(i)) {
      const [step, waited] = critical.get(i);
      pairs.push(["Critical path", "step " + (step + 1) + " of " + critical.size + "; it waited for " + REASONS[waited]]);
    }
    figures.describe(panel, names[i], pairs);
  }

  function nextCritical() {
    if (!data.critical.length) return;
    const at = critical.has(current) ? critical.get(current)[0] + 1 : 0;
    choose(data.critical[at % data.critical.length]);
  }

  /** Choose the neighbour of the chosen bar: on its track, or the nearest in time on the next track that has one. */
  function step(along, across) {
    if (current < 0) {
      choose(0);
      return;
    }
    const t = trackOf[current];
    if (along) {
      const next = current + along;
      if (next >= 0 && next < count && trackOf[next] === t) choose(next);
      return;
    }
    for (let other = t + across; other >= 0 && other < data.tracks.length; other += across) {
      const held = data.tracks[other][5];
      if (!held) continue;
      let best = first[other];
      for (let i = best; i < first[other] + held; i += 1) {
        if (Math.abs(starts[i] - starts[current]) < Math.abs(starts[best] - starts[current])) best = i;
      }
      choose(best);
      return;
    }
  }

  const KEYS = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => show(0, data.end), c: nextCritical, C: nextCritical,
    ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
  };
  const MOVES = { ArrowLeft: -0.25, ArrowRight: 0.25 };

  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.shiftKey && MOVES[event.key]) move(MOVES[event.key]);
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    event.preventDefault();
  });

  function timeAt(event) {
    const box = picture.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * total - LABEL;
    return begin + (x / (total - LABEL - 10)) * (end - begin);
  }

  picture.addEventListener("wheel", (event) => {
    if (document.activeElement !== picture && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000);
    else zoom(event.deltaY < 0 ? 0.8 : 1.25, timeAt(event));
  }, { passive: false });

  let held = null;
  picture.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, begin, end, moved: false };
  });
  picture.addEventListener("pointermove", (event) => {
    const bar = event.target.closest(".act");
    if (!held) {
      if (bar && current < 0) describe(Number(bar.dataset.activity));
      return;
    }
    const by = ((event.clientX - held.x) / picture.getBoundingClientRect().width) * total;
    if (Math.abs(by) > 3) held.moved = true;
    const shift = (by / (total - LABEL - 10)) * (held.end - held.begin);
    if (held.moved && held.end - held.begin < data.end) show(held.begin - shift, held.end - shift);
  });
  for (const kind of ["pointerup", "pointerleave", "pointercancel"]) {
    picture.addEventListener(kind, (event) => {
      const bar = kind === "pointerup" && held && !held.moved ? event.target.closest(".act") : null;
      held = null;
      if (bar) choose(Number(bar.dataset.activity));
    });
  }

  const ACTIONS = {
    in: () => zoom(0.5), out: () => zoom(2), whole: () => show(0, data.end),
    earlier: () => move(-0.5), later: () => move(0.5), critical: nextCritical,
  };
  for (const [what, action] of Object.entries(ACTIONS)) {
    const button = document.getElementById("gantt-" + what);
    if (button) button.addEventListener("click", action);
  }

  /** Give the chart the width of its place. */
  function fitted() {
    const wide = Math.max(Math.floor(frame.clientWidth), NARROW);
    if (wide > 0 && Math.abs(wide - total) > 20) {
      total = wide;
      redraw();
    }
  }

  picture.setAttribute("role", "application");
  document.getElementById("gantt-controls").hidden = false;
  new ResizeObserver(fitted).observe(frame);
  redraw();
})();
