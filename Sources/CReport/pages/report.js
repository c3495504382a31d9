// A capture report: figures, findings, timeline with its list, latencies. Texts of a capture are always inserted as
// text.
"use strict";

const captures = JSON.parse(document.getElementById("data").textContent);
const root = document.getElementById("report");

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const plain = (number) => number.toLocaleString("en-US");
const plural = (number, noun) => `${plain(number)} ${noun}${number === 1 ? "" : "s"}`;
const hex = (number, width) => "0x" + number.toString(16).toUpperCase().padStart(width, "0");
const brief = (capture) => capture.file.split("/").filter(Boolean).pop() ?? capture.file;

function span(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  if (milliseconds < 0) return `−${span(-milliseconds)}`; // The recorder's clock was set back.
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(milliseconds < 10 ? 2 : milliseconds < 100 ? 1 : 0)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** A time as UTC with the given number of decimals; the frame number in a capture without times. */
function moment(capture, seconds, digits) {
  if (capture.firstTime === null) return `frame ${Math.round(seconds)}`;
  const all = capture.firstTime + seconds;
  if (!(Math.abs(all) < 8e12)) return `+${seconds.toFixed(digits)} s`;
  // Round first: a fraction that rounds up belongs to the next second.
  const parts = Math.round(all * 10 ** digits), second = Math.floor(parts / 10 ** digits);
  return new Date(second * 1000).toISOString().slice(11, 19) + (digits > 0 ? `.${String(parts - second * 10 ** digits).padStart(digits, "0")}` : "");
}

function table(name, head, rows, numbers) {
  const kind = (column) => (numbers.includes(column) ? "number" : null);
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": name }, make("table", {},
    make("thead", {}, make("tr", {}, head.map((title, column) => make(title ? "th" : "td", { class: kind(column) }, title)))),
    make("tbody", {}, rows.map((row) => make("tr", { class: row.kind }, row.map((cell, column) => make("td", { class: kind(column) }, cell)))))));
}

/** The same section of all captures, side by side. */
function section(title, id, part, note) {
  const parts = captures.map(part);
  return parts.some(Boolean) && make("section", { id }, make("h2", {}, title), note && make("p", { class: "soft" }, note),
    make("div", { class: "columns" }, parts.map((one, index) =>
      make("div", { class: "panel" }, captures.length > 1 ? make("p", { class: "soft" }, brief(captures[index])) : null, one || "nothing"))));
}

function facts(capture) {
  const { total, drinks } = capture, { latency } = total;
  const fact = (value, name) => make("div", { class: "fact" }, make("b", {}, value), make("span", {}, name));
  const isTimed = capture.firstTime !== null, date = isTimed && Math.abs(capture.firstTime) < 8e12 ? new Date(capture.firstTime * 1000).toISOString().slice(0, 10) : "";
  return make("div", {},
    make("p", {}, [capture.container, plural(capture.packets, "packet"), plural(capture.connectionCount, "connection"), isTimed ? `${date} ${moment(capture, 0, 3)} UTC` : null].filter(Boolean).join(" · ")),
    capture.trouble ? make("p", { class: "odd" }, `Not read to its end: ${capture.trouble}`) : null,
    make("div", { class: "facts" },
      fact(plain(total.pdus), "ATT PDUs"), fact(isTimed ? span((capture.lastTime - capture.firstTime) * 1000) : "–", "from first to last packet"),
      fact(span(latency.medianMs), "median latency"), fact(span(latency.share95Ms), "95 % within"), fact(span(latency.worstMs), "worst"),
      fact(plain(total.valueBytes), "bytes of values"),
      fact(plain(Object.values(total.errors).reduce((sum, number) => sum + number, 0)), "error responses"), fact(plain(total.timeouts + total.unanswered), "without an answer"),
      fact(drinks.count ? `${plain(drinks.millilitres)} ml` : "none", plural(drinks.count, "drink"))));
}

function findings(capture, index) {
  const link = (frame) => (frame ? make("button", { class: "link", type: "button", onclick: () => timelines[index].show(frame) }, `frame ${plain(frame)}`) : null);
  return make("div", {},
    capture.anomalies.length ? null : make("p", {}, capture.total.pdus ? "No findings." : "The capture has no ATT PDU."),
    capture.anomalies.map((one) => make("div", { class: "odd" }, make("p", {}, one.sentence, link(one.frame)), make("p", { class: "soft" }, one.explanation))),
    make("ul", { class: "soft" }, Object.entries(capture.notRead).map(([reason, number]) => make("li", {}, `${plain(number)} × ${reason}`)), capture.remarks.map((remark) => make("li", {}, remark))));
}

// The timeline: bars of the traffic, a line per connection, and the list of the visible PDUs.

const timelines = [];
const LANES = 8, LISTED = 200, BAR = 84, TOP = 14, LANE = 34;

function timeline(capture, index) {
  const { pieces, pdus, names, width } = capture.timeline;
  const isTimed = capture.firstTime !== null;
  // A PDU: [frame, seconds, connection, direction, opcode, handle, length, latency, bytes].
  const at = (pdu) => (isTimed ? pdu[1] ?? 0 : pdu[0]);
  const times = [...pieces.flatMap(([begin]) => [begin, begin + width]), ...(isTimed ? [] : pdus.map(at))];
  const first = times.reduce((a, b) => Math.min(a, b), times[0] ?? 0), last = Math.max(first + 1e-5, times.reduce((a, b) => Math.max(a, b), first));
  const margin = (last - first) * 0.01, whole = [first - margin, last + margin];
  let range = whole, wanted = [], marked = null, drag = null;
  const peers = new Map(capture.connections.map((one) => [one.connection, one.peer])), uuids = new Map();
  for (const one of capture.characteristics) if (one.uuid) uuids.set(`${one.peer ?? one.connection}|${one.handle}`, one.uuid);
  const attribute = (pdu) => (pdu[5] < 0 ? "" : `${hex(pdu[5], 4)} ${uuids.get(`${peers.get(pdu[2]) ?? pdu[2]}|${pdu[5]}`) ?? uuids.get(`${pdu[2]}|${pdu[5]}`) ?? ""}`);
  const searched = pdus.map((pdu) => `${pdu[0]} ${names[pdu[4]] ?? ""} ${attribute(pdu)} ${peers.get(pdu[2]) ?? ""} ${pdu[8]}`.toLowerCase());
  const isInView = (pdu) => at(pdu) >= range[0] && at(pdu) <= range[1];

  const picture = draw("svg", { class: "course", role: "img", tabindex: "0", "aria-label": "PDUs over time. Drag, plus and minus zoom, arrow keys move, 0 shows all" });
  const list = make("div", { class: "list" });
  const said = make("p", { class: "soft", "aria-live": "polite" });
  const search = make("input", { type: "search", placeholder: "name, handle, UUID, bytes, frame", "aria-label": "search PDUs" });
  const lanes = capture.connections.slice(0, LANES), axis = TOP + BAR + 8 + lanes.length * LANE;

  function paint() {
    const box = Math.max(240, picture.clientWidth || 900);
    picture.setAttribute("viewBox", `0 0 ${box} ${axis + 22}`);
    picture.setAttribute("height", axis + 22);
    const x = (time) => ((time - range[0]) / (range[1] - range[0])) * box;
    const line = (kind, d) => draw("path", { class: kind, d });
    const parts = [line("line", `M0 ${TOP + BAR + .5}H${box}M0 ${TOP + .5}H${box}`)];
    // Traffic in columns of three pixels.
    const columns = new Map();
    for (const [begin, sent, received] of pieces) {
      if (begin + width < range[0] || begin > range[1]) continue;
      const column = Math.max(0, Math.floor(x(begin) / 3)), sum = columns.get(column) ?? [0, 0, 0];
      columns.set(column, [sum[0] + sent, sum[1] + received, Math.max(sum[2], x(begin + width) - x(begin))]);
    }
    const most = Math.max(1, ...[...columns.values()].map(([sent, received]) => sent + received));
    for (const [column, [sent, received, wide]] of columns) {
      const bar = (kind, from, number) => draw("rect", { class: kind, x: column * 3, width: Math.max(2.4, Math.min(wide - .6, box)), y: TOP + BAR * (1 - (from + number) / most), height: BAR * number / most });
      parts.push(bar("received fill", 0, received), bar("sent fill", received, sent));
    }
    // A mark per PDU on the line of its connection: sent in the upper half, received in the lower half.
    const rows = new Map(lanes.map((one, place) => [one.connection, TOP + BAR + 22 + place * LANE]));
    for (const one of lanes) {
      parts.push(draw("rect", { class: "lane", width: box, y: rows.get(one.connection) + 2, height: 16 }), draw("text", { x: 2, y: rows.get(one.connection) - 2 }, `${one.connection} · ${one.peer ?? "no address"}`));
    }
    const found = pdus.filter((pdu, place) => isInView(pdu) && wanted.every((word) => searched[place].includes(word)));
    const marks = { sent: "", received: "", error: "" };
    for (const pdu of found) {
      const y = rows.get(pdu[2]);
      if (y !== undefined) marks[pdu[4] === 1 ? "error" : pdu[3] === 0 ? "sent" : "received"] += `M${x(at(pdu)).toFixed(1)} ${y + (pdu[3] === 0 ? 3 : 10)}v7`;
    }
    for (const [kind, path] of Object.entries(marks)) parts.push(line(`${kind} mark`, path || "M0 0"));
    const digits = isTimed ? Math.max(0, Math.min(6, Math.ceil(1 - Math.log10(range[1] - range[0])))) : 0;
    for (const [share, anchor] of [[0, "start"], [.5, "middle"], [1, "end"]]) {
      parts.push(line("line", `M${share * box} ${axis}v5`), draw("text", { x: share * box, y: axis + 17, "text-anchor": anchor }, moment(capture, range[0] + (range[1] - range[0]) * share, digits)));
    }
    if (marked !== null) parts.push(line("stroke-mark", `M${x(marked)} ${TOP}V${axis}`));
    if (drag) parts.push(draw("rect", { class: "band", x: Math.min(...drag), width: Math.abs(drag[1] - drag[0]), y: TOP, height: axis - TOP }));
    picture.replaceChildren(...parts);

    const kept = pdus.length, all = capture.timeline.count;
    said.textContent = [`${plural(found.length, "PDU")} ${wanted.length ? "found " : ""}here${found.length > LISTED ? `, the first ${LISTED} listed` : ""}.`,
      all > kept ? `The page has ${plain(kept)} of ${plain(all)} PDUs: the first ones, errors and late answers.` : "",
      capture.connectionCount > LANES ? `Lines: the first ${LANES} connections.` : ""].filter(Boolean).join(" ");
    list.replaceChildren(table(`PDUs of ${brief(capture)}`, ["frame", isTimed ? "time (UTC)" : "", "", "", "handle", "latency", "bytes"], found.slice(0, LISTED).map((pdu) => Object.assign([
      plain(pdu[0]), pdu[1] === null ? "" : moment(capture, pdu[1], 6), ["→", "←", ""][pdu[3]], names[pdu[4]] ?? hex(pdu[4], 2), attribute(pdu),
      pdu[7] === null ? "" : span(pdu[7]), pdu[8] + (pdu[6] * 2 > pdu[8].length ? `… (${pdu[6]})` : "")], { kind: pdu[4] === 1 ? "error" : null })), [0, 5]));
  }

  let isWaiting = false;
  function later() {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; paint(); });
  }

  function look(from, to) {
    const size = Math.min(Math.max(to - from, isTimed ? 1e-5 : 4), whole[1] - whole[0]);
    const start = Math.max(whole[0], Math.min((from + to - size) / 2, whole[1] - size));
    range = [start, start + size];
    later();
  }
  /** Moves by a share of the view and scales it. */
  const change = (share, factor) => {
    const size = range[1] - range[0], middle = range[0] + size * (.5 + share);
    look(middle - size * factor / 2, middle + size * factor / 2);
  };
  const actions = [["-", "−", "zoom out", () => change(0, 2)], ["+", "+", "zoom in", () => change(0, .5)], ["ArrowLeft", "←", "earlier", () => change(-.25, 1)],
    ["ArrowRight", "→", "later", () => change(.25, 1)], ["0", "All", "show all", () => look(...whole)]];

  const place = (event) => event.clientX - picture.getBoundingClientRect().left;
  picture.addEventListener("pointerdown", (event) => { drag = [place(event), place(event)]; picture.setPointerCapture(event.pointerId); });
  picture.addEventListener("pointermove", (event) => { if (drag) { drag[1] = place(event); later(); } });
  picture.addEventListener("pointerup", () => {
    if (!drag) return;
    const [from, to] = drag.sort((a, b) => a - b).map((x) => range[0] + (x / picture.clientWidth) * (range[1] - range[0]));
    const isDragged = drag[1] - drag[0] > 4;
    drag = null;
    if (isDragged) look(from, to); else later();
  });
  picture.addEventListener("keydown", (event) => {
    const act = actions.find(([key]) => key === event.key)?.[3];
    if (act) { event.preventDefault(); act(); }
  });
  search.addEventListener("input", () => { wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean); later(); });
  new ResizeObserver(later).observe(picture);

  timelines[index] = {
    show(frame) {
      if (!pdus.length) return;
      marked = at(pdus.reduce((best, pdu) => (Math.abs(pdu[0] - frame) < Math.abs(best[0] - frame) ? pdu : best)));
      search.value = "";
      wanted = [];
      const size = (whole[1] - whole[0]) / 20;
      look(marked - size / 2, marked + size / 2);
      picture.scrollIntoView({ block: "center" });
    },
  };
  return make("div", {},
    make("div", { class: "tools" }, search, actions.map(([, text, name, act]) => make("button", { type: "button", "aria-label": name, title: name, onclick: act }, text))),
    picture,
    make("p", { class: "soft" }, ["sent", "received", "error"].map((kind) => [make("i", { class: kind }), `${kind} `])), said, list);
}

function latencies(capture) {
  const row = (name, one) => {
    const troubles = [...Object.entries(one.errors).map(([error, number]) => `${plain(number)} × ${error}`), one.timeouts ? plural(one.timeouts, "time-out") : null,
      one.unanswered ? `${plain(one.unanswered)} without an answer` : null].filter(Boolean).join(", ");
    return [make("div", {}, name, troubles ? make("small", {}, troubles) : null), plain(one.requests), ...["medianMs", "share95Ms", "worstMs"].map((key) => span(one.latency[key])), plain(one.notifications ?? 0), plain(one.valueBytes ?? 0)];
  };
  const name = (one) => [capture.isText ? null : hex(one.handle, 4), one.uuid ?? "?", one.peer].filter(Boolean).join(" ");
  const rows = [...capture.requests.map((one) => row(one.name, one)), ...capture.characteristics.slice(0, LISTED).map((one) => row(name(one), one))];
  return rows.length ? table("latencies", ["request or characteristic", "number", "median", "95 %", "worst", "notified", "bytes"], rows, [1, 2, 3, 4, 5, 6]) : null;
}

root.append(make("header", {}, make("h1", {}, captures.map(brief).join(" and ")), make("p", { class: "soft" }, `Capture report of ${captures.map((capture) => capture.file).join(" and ")}`)),
  ...[section("Figures", "short", facts), section("Findings", "odd", findings), section("Timeline", "course", timeline),
    section("Latencies", "latency", latencies, "From request to answer. Of more than 256 answers, median and 95 % are up to 1.6 % off.")].filter(Boolean));
