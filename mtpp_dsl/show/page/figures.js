// What the scripts of the graph, the network and the schedule share: elements of SVG, columns of data, quantities.
const figures = (() => {
  const SPACE = "http://www.w3.org/2000/svg";

  /** Make an element of SVG, with text that is never markup. */
  function drawn(kind, attributes, text) {
    const made = document.createElementNS(SPACE, kind);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) made.setAttribute(key, value);
    }
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /** Make an element of HTML. */
  function made(kind, text, attributes) {
    const found = document.createElement(kind);
    if (text !== undefined && text !== null) found.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) found.setAttribute(key, value);
    return found;
  }

  const blocks = new Map();

  /** Read a block of data, once; null where the page has none. */
  function data(id) {
    const block = document.getElementById(id);
    if (!blocks.has(id)) blocks.set(id, block ? JSON.parse(block.textContent) : null);
    return blocks.get(id);
  }

  /** Return the values of a column that markup.py has written. */
  function column(packed) {
    return packed ? (packed.i ? packed.i.map((k) => packed.v[k]) : packed.v) : null;
  }

  /** Return a number with five significant digits, as format_value does. */
  function value(number) {
    if (number === 0) return "0";
    const [digits, exponent] = number.toExponential(4).split("e");
    if (exponent < -4 || exponent >= 5) {
      const sign = exponent < 0 ? "-" : "+";
      return Number(digits) + "e" + sign + String(Math.abs(exponent)).padStart(2, "0");
    }
    return String(Number(number.toPrecision(5)));
  }

  const STEPS = {
    s: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9]],
    B: [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]],
    decimal: [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
  };

  /** Return a quantity for people, as format_quantity does; "" for none. */
  function quantity(number, unit, decimal) {
    if (number === null || number === undefined) return "";
    const steps = STEPS[unit === "B" && decimal ? "decimal" : unit];
    if (!steps) return (value(number) + " " + unit).trim();
    if (number === 0 && unit === "s") return "0 s";
    const [name, factor] = steps.find((step) => Math.abs(number) >= step[1]) || steps[steps.length - 1];
    return value(number / factor) + " " + name;
  }

  /** Return a coordinate with one decimal at most. */
  function place(number) {
    return String(Number(number.toFixed(1)));
  }

  /** Return text of at most so many letters, its middle left out where it is longer; as markup.short does. */
  function short(text, most) {
    const letters = Array.from(text);
    if (letters.length <= most) return text;
    const half = Math.floor((most - 1) / 2);
    return letters.slice(0, most - 1 - half).join("") + "…" + letters.slice(letters.length - half).join("");
  }

  const LEAST = 0.45;

  /** Keep a picture that fits the width of its frame so large that its text can be read: what is wider scrolls. */
  function readable(picture) {
    const fits = picture.classList.contains("fit");
    picture.style.minWidth = fits ? LEAST * Number(picture.getAttribute("width")) + "px" : "";
  }
  document.querySelectorAll("svg.fit").forEach(readable);

  /** Show a list of terms and their descriptions, text or elements, in a panel, under a title. */
  function describe(panel, title, pairs) {
    const list = made("dl");
    for (const [term, said] of pairs) {
      if (said === "" || said === null || said === undefined) continue;
      const description = made("dd");
      description.append(said);
      list.append(made("dt", term), description);
    }
    panel.replaceChildren(made("h3", title), list);
  }

  return { drawn, made, data, column, value, quantity, place, short, readable, describe };
})();
