// The page of a capture's report. Everything that comes from the capture is shown as text: nothing here makes markup of a string.
"use strict";

const captures = JSON.parse(document.getElementById("data").textContent);
const root = document.getElementById("report");

// ---- small makers

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const plain = (number) => number.toLocaleString("en-US");
const plural = (number, noun, more) => `${plain(number)} ${number === 1 ? noun : more ?? noun + "s"}`;
/** A file without its folders. */
const brief = (capture) => capture.file.split("/").filter(Boolean).pop() ?? capture.file;
const hex = (number, width) => "0x" + number.toString(16).toUpperCase().padStart(width, "0");

function span(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "–";
  // The recorder's clock may have been set back.
  if (milliseconds < 0) return `−${span(-milliseconds)}`;
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 10) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 1000) return `${milliseconds < 100 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

const rate = (bytes) => (bytes === null || bytes === undefined ? "–" : bytes < 1000 ? `${Math.round(bytes)} B/s` : `${(bytes / 1000).toFixed(1)} kB/s`);

/** A moment of the capture, as UTC where it has a date. */
function moment(capture, seconds, digits) {
  if (capture.firstTime === null) return `frame ${Math.round(seconds)}`;
  const all = capture.firstTime + seconds;
  if (!(Math.abs(all) < 8e12)) return `+${seconds.toFixed(digits)} s`;
  // Rounded before it is taken apart: a fraction that rounds up belongs to the next second.
  const parts = Math.round(all * 10 ** digits), second = Math.floor(parts / 10 ** digits);
  const fraction = digits > 0 ? `.${String(parts - second * 10 ** digits).padStart(digits, "0")}` : "";
  return `${new Date(second * 1000).toISOString().slice(11, 19)}${fraction}`;
}

function day(capture, seconds) {
  const all = (capture.firstTime ?? 0) + seconds;
  return Math.abs(all) < 8e12 ? new Date(all * 1000).toISOString().slice(0, 10) : "";
}

function table(head, rows, options = {}) {
  const numbers = new Set(options.numbers ?? []);
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": options.name ?? "table" }, make("table", {},
    make("thead", {}, make("tr", {}, head.map((title, column) => make(title ? "th" : "td", { class: numbers.has(column) ? "number" : null }, title)))),
    make("tbody", {}, rows.map((row) => make("tr", { class: row.kind }, (row.cells ?? row).map((cell, column) =>
      make("td", { class: cell instanceof SVGElement ? "chart" : numbers.has(column) ? "number" : options.classes?.[column] }, cell)))))));
}

/** The same part of every capture, side by side. */
function section(title, id, part, note) {
  const parts = captures.map((capture, index) => part(capture, index));
  if (parts.every((one) => !one)) return null;
  return make("section", { id }, make("h2", {}, title), note ? make("p", { class: "soft small" }, note) : null,
    make("div", { class: captures.length > 1 ? "columns two" : "columns" }, parts.map((one, index) =>
      make("div", { class: "panel" }, captures.length > 1 ? make("p", { class: "soft small", title: captures[index].file }, brief(captures[index])) : null, one ?? make("p", { class: "soft" }, "nothing")))));
}

// ---- what it is

function facts(capture) {
  const total = capture.total, latency = total.latency;
  const errors = Object.values(total.errors).reduce((sum, number) => sum + number, 0);
  const fact = (value, name, bad) => make("div", { class: bad ? "fact bad" : "fact" }, make("b", {}, value), make("span", {}, name));
  const lasted = capture.firstTime === null ? "–" : span((capture.lastTime - capture.firstTime) * 1000);
  return make("div", {},
    make("p", {}, [capture.container, plural(capture.packets, "packet"), plural(capture.connectionCount, "connection")].join(" · "),
      capture.firstTime === null ? "" : ` · ${day(capture, 0)} ${moment(capture, 0, 3)} UTC`),
    capture.trouble ? make("p", { class: "good" }, `Not read to its end: ${capture.trouble}`) : null,
    make("div", { class: "facts" },
      fact(plain(total.pdus), "ATT PDUs"), fact(lasted, "from first to last packet"),
      fact(span(latency.medianMs), "median latency"), fact(span(latency.share95Ms), "95 % within"), fact(span(latency.worstMs), "worst"),
      fact(rate(total.bytesPerSecond), `of values, ${plain(total.valueBytes)} bytes`),
      fact(plain(errors), "error responses"), fact(plain(total.timeouts + total.unanswered), "without an answer", total.timeouts > 0),
      fact(capture.drinks.count ? `${plain(capture.drinks.millilitres)} ml` : "none", plural(capture.drinks.count, "drink"))));
}

function comparison() {
  if (captures.length < 2) return null;
  const [one, other] = captures;
  const rows = [];
  const line = (name, value, show, both = true) => {
    const [a, b] = [value(one), value(other)];
    if ((a ?? null) === null && (b ?? null) === null) return;
    const known = typeof a === "number" && typeof b === "number";
    const change = known && a > 0 && both ? (b === a ? "same" : `${b > a ? "+" : "−"}${Math.abs((b / a - 1) * 100).toFixed(Math.abs(b / a - 1) < 0.1 ? 1 : 0)} %`) : known && a === b ? "same" : known ? `${b > a ? "+" : "−"}${show(Math.abs(b - a))}` : "";
    rows.push([name, show(a), show(b), change]);
  };
  const number = (value) => (value === undefined || value === null ? "–" : plain(value));
  line("ATT PDUs", (c) => c.total.pdus, number);
  line("requests", (c) => c.total.requests, number);
  line("median latency", (c) => c.total.latency.medianMs, span);
  line("95 % within", (c) => c.total.latency.share95Ms, span);
  line("worst", (c) => c.total.latency.worstMs, span);
  line("value bytes", (c) => c.total.valueBytes, number);
  line("bytes a second", (c) => c.total.bytesPerSecond, rate);
  line("notifications", (c) => c.total.notifications, number);
  line("error responses", (c) => Object.values(c.total.errors).reduce((sum, n) => sum + n, 0), number);
  line("time-outs", (c) => c.total.timeouts, number);
  line("without an answer", (c) => c.total.unanswered, number);
  line("retransmissions", (c) => c.connections.reduce((sum, n) => sum + n.retransmissions, 0), number);
  line("parts lost", (c) => c.connections.reduce((sum, n) => sum + n.lostParts, 0), number);
  line("drinks", (c) => c.drinks.count, number);
  const names = [...new Set(captures.flatMap((c) => c.requests.map((r) => r.name)))];
  for (const name of names) line(`${name}: median`, (c) => c.requests.find((r) => r.name === name)?.latency.medianMs ?? null, span);
  return make("section", { id: "comparison" }, make("h2", {}, "Side by side"), make("div", { class: "panel" },
    table(["", brief(one), brief(other), "change"], rows, { numbers: [1, 2, 3], classes: { 0: "wide" } })));
}

// ---- what is not as it should be

/** A frame, and the way to it in the course where it is there. */
function frameLink(capture, index, frame) {
  if (!frame) return null;
  const isKept = capture.timeline.pdus.some((pdu) => Math.abs(pdu[0] - frame) < 50);
  return isKept ? make("button", { class: "link", type: "button", onclick: () => courses[index]?.show(frame) }, `frame ${plain(frame)}`) : make("span", { class: "soft small" }, ` frame ${plain(frame)}`);
}

function oddities(capture, index) {
  const all = capture.anomalies;
  const notRead = Object.entries(capture.notRead);
  return make("div", {},
    all.length === 0 ? make("p", { class: "good" }, capture.total.pdus ? "All as it should be." : "There is no ATT PDU to judge.") :
    make("ul", { class: "odd" }, all.map((one) => make("li", {},
      make("p", {}, one.sentence, frameLink(capture, index, one.frame)),
      make("p", { class: "soft small" }, one.explanation)))),
    notRead.length ? make("details", {}, make("summary", {}, "What became no PDU"), make("ul", { class: "pad small" }, notRead.map(([reason, number]) => make("li", {}, `${plain(number)} × ${reason}`)))) : null,
    capture.remarks.length ? make("ul", { class: "pad small soft" }, capture.remarks.map((remark) => make("li", {}, remark))) : null);
}

// ---- the course

const courses = [];

function course(capture, index) {
  const { pieces, pdus, names, width } = capture.timeline;
  const noTime = capture.firstTime === null;
  const at = (pdu) => (noTime ? pdu[0] : pdu[1] ?? 0);
  const ends = [...pieces.map((piece) => piece[0]), ...pieces.map((piece) => piece[0] + width), ...(noTime ? pdus.map((pdu) => pdu[0]) : [])];
  let first = ends.length ? ends.reduce((a, b) => Math.min(a, b)) : 0, last = ends.length ? ends.reduce((a, b) => Math.max(a, b)) : 1;
  if (!(last > first)) last = first + 1;
  const margin = (last - first) * 0.01;
  const whole = [first - margin, last + margin];
  let range = [...whole], wanted = "", marked = null;

  // Who an attribute is, by connection and handle.
  const uuids = new Map(), peers = new Map(capture.connections.map((one) => [one.connection, one.peer]));
  for (const one of capture.characteristics) if (one.uuid) uuids.set(`${one.peer ?? one.connection}|${one.handle}`, one.uuid);
  const uuid = (pdu) => (pdu[5] < 0 ? "" : uuids.get(`${peers.get(pdu[2]) ?? pdu[2]}|${pdu[5]}`) ?? uuids.get(`${pdu[2]}|${pdu[5]}`) ?? "");
  const words = (pdu) => `${pdu[0]} ${names[pdu[4]] ?? ""} ${pdu[5] < 0 ? "" : hex(pdu[5], 4)} ${uuid(pdu)} ${peers.get(pdu[2]) ?? ""} ${pdu[8]}`.toLowerCase();
  let index_ = null;
  const matches = () => {
    if (!wanted) return pdus;
    index_ ??= pdus.map(words);
    return pdus.filter((_, place) => wanted.every((word) => index_[place].includes(word)));
  };
  const isError = (pdu) => pdu[4] === 1;

  const picture = draw("svg", { class: "course", role: "img", tabindex: "0", "aria-label": "PDUs over time; drag to look closer, arrow keys move, plus and minus change the scale" });
  const list = make("div", { class: "list scroll", tabindex: "0", role: "group", "aria-label": `PDUs of ${brief(capture)}` });
  const said = make("p", { class: "soft small", "aria-live": "polite" });
  const search = make("input", { type: "search", placeholder: "search: name, handle, UUID, address, bytes, frame", "aria-label": "search PDUs" });

  const lanes = capture.connections.slice(0, 8);
  const barHeight = 84, top = 14;

  function paint() {
    const box = Math.max(240, picture.clientWidth || 900);
    // Names stand beside the lines where there is room, else above them.
    const isWide = box > 640, laneHeight = isWide ? 20 : 34, lane = isWide ? 0 : 14;
    gutter = isWide ? 160 : 0;
    const height = top + barHeight + 8 + lanes.length * laneHeight + 22;
    picture.setAttribute("viewBox", `0 0 ${box} ${height}`);
    picture.setAttribute("height", height);
    const x = (time) => gutter + ((time - range[0]) / (range[1] - range[0])) * (box - gutter);
    const parts = [];
    // How much passed: pieces in columns of three pixels.
    const columns = new Map();
    for (const [begin, sent, received, errors] of pieces) {
      if (begin + width < range[0] || begin > range[1]) continue;
      const column = Math.max(gutter / 3, Math.min(box / 3, Math.floor(x(begin) / 3)));
      const sum = columns.get(column) ?? [0, 0, 0, 0];
      sum[0] += sent; sum[1] += received; sum[2] += errors;
      sum[3] = Math.max(sum[3], x(begin + width) - x(begin));
      columns.set(column, sum);
    }
    const most = Math.max(1, ...[...columns.values()].map((sum) => sum[0] + sum[1]));
    const scale = (number) => (number / most) * barHeight;
    parts.push(draw("path", { class: "stroke-line", d: `M${gutter} ${top + barHeight + .5}H${box}M${gutter} ${top + .5}H${box}` }));
    for (const [column, [sent, received, errors, wide]] of columns) {
      const left = column * 3, thick = Math.max(2.4, Math.min(wide - .6, box)), low = top + barHeight;
      if (received) parts.push(draw("rect", { class: "fill-received", x: left, width: thick, y: low - scale(received), height: scale(received) }));
      if (sent) parts.push(draw("rect", { class: "fill-sent", x: left, width: thick, y: low - scale(received + sent), height: scale(sent) }));
      if (errors) parts.push(draw("rect", { class: "fill-error", x: left, width: Math.max(2.4, Math.min(thick, 6)), y: low + 2, height: 4 }));
    }
    parts.push(draw("text", { x: gutter + 2, y: top - 3 }, `${noTime ? "one mark a PDU" : plural(most, "PDU")} at most in ${noTime ? "order" : span(Math.max((3 / (box - gutter)) * (range[1] - range[0]), Math.min(width, range[1] - range[0])) * 1000)}`));
    // Connections, each on a line of its own, with the PDUs that are kept.
    const shown = new Map(lanes.map((one, place) => [one.connection, top + barHeight + 8 + place * laneHeight + lane]));
    lanes.forEach((one, place) => {
      const y = top + barHeight + 8 + place * laneHeight;
      parts.push(draw("rect", { class: "fill-quiet", x: gutter, width: box - gutter, y: y + lane + 2, height: 16, rx: 2 }));
      parts.push(draw("text", { x: 2, y: y + (isWide ? 14 : 12) }, `${one.connection} · ${one.peer ?? "no address"}`));
    });
    const marks = { "stroke-sent": "", "stroke-received": "", "stroke-error": "" };
    const found = matches();
    let visible = 0;
    for (const pdu of found) {
      const time = at(pdu);
      if (time < range[0] || time > range[1]) continue;
      visible += 1;
      const y = shown.get(pdu[2]);
      if (y === undefined) continue;
      const place = x(time).toFixed(1);
      const kind = isError(pdu) ? "stroke-error" : pdu[3] === 0 ? "stroke-sent" : "stroke-received";
      marks[kind] += pdu[3] === 0 ? `M${place} ${y + 3}v7` : `M${place} ${y + 10}v7`;
    }
    for (const [kind, path] of Object.entries(marks)) if (path) parts.push(draw("path", { class: kind, d: path }));
    // The axis.
    const axis = top + barHeight + 8 + lanes.length * laneHeight;
    for (const tick of ticks(range, Math.max(2, Math.floor((box - gutter) / 150)), noTime ? 0 : capture.firstTime % 86400)) {
      const place = x(tick.at);
      parts.push(draw("path", { class: "stroke-line", d: `M${place} ${axis}v5` }));
      parts.push(draw("text", { x: Math.min(box - 4, Math.max(2, place)), y: axis + 17, "text-anchor": place > box - 60 ? "end" : place < gutter + 40 ? "start" : "middle" },
        noTime ? `frame ${Math.round(tick.at)}` : moment(capture, tick.at, tick.digits)));
    }
    if (marked !== null && marked >= range[0] && marked <= range[1]) parts.push(draw("path", { class: "stroke-mark", d: `M${x(marked)} ${top}V${axis}` }));
    if (drag) parts.push(draw("rect", { class: "band", x: Math.min(drag[0], drag[1]), width: Math.abs(drag[1] - drag[0]), y: top, height: axis - top }));
    picture.replaceChildren(...parts);
    say(found, visible);
  }

  function say(found, visible) {
    const all = capture.timeline.count, kept = pdus.length;
    const here = found.filter((pdu) => at(pdu) >= range[0] && at(pdu) <= range[1]).slice(0, 200);
    const left = all > kept ? ` ${plural(all - kept, "PDU")} of ${plain(all)} are only in the bars: the page keeps ${plain(kept)}, the first ones and some later errors and late answers. A report of a shorter time has all.` : "";
    said.textContent = `${plural(visible, "PDU")} ${wanted ? "found " : ""}here${visible > here.length ? `, the first ${here.length} listed` : ""}.${left}` +
      (capture.connectionCount > lanes.length ? ` Lines: the first ${lanes.length} of ${plain(capture.connectionCount)} connections.` : "");
    list.replaceChildren(here.length ? table(["frame", noTime ? "" : "time (UTC)", "", "", "handle", "latency", "bytes"], here.map((pdu) => ({
      kind: isError(pdu) ? "error" : null,
      cells: [plain(pdu[0]), pdu[1] === null ? "" : moment(capture, pdu[1], 6), ["→", "←", ""][pdu[3]], names[pdu[4]] ?? hex(pdu[4], 2),
        pdu[5] < 0 ? "" : `${hex(pdu[5], 4)} ${uuid(pdu)}`, pdu[7] === null ? "" : span(pdu[7]), pdu[8] + (pdu[6] * 2 > pdu[8].length ? `… (${pdu[6]})` : "")],
    })), { numbers: [0, 5], classes: { 1: "keep", 3: "keep", 4: "wide", 6: "hex" } }) : make("p", { class: "soft" }, "none"));
  }

  let waiting = false;
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  }

  function look(from, to) {
    const least = noTime ? 4 : 1e-5;
    if (to - from < least) { const middle = (from + to) / 2; from = middle - least / 2; to = middle + least / 2; }
    const size = Math.min(to - from, whole[1] - whole[0]);
    from = Math.max(whole[0], Math.min(from, whole[1] - size));
    range = [from, from + size];
    later();
  }
  const closer = (factor, place = .5) => {
    const size = range[1] - range[0], point = range[0] + size * place;
    look(point - size * factor * place, point + size * factor * (1 - place));
  };
  const move = (share) => { const step = (range[1] - range[0]) * share; look(range[0] + step, range[1] + step); };

  let drag = null, gutter = 0;
  const place = (event) => Math.max(gutter, event.clientX - picture.getBoundingClientRect().left);
  const share = (x) => (x - gutter) / Math.max(1, picture.clientWidth - gutter);
  picture.addEventListener("pointerdown", (event) => { drag = [place(event), place(event)]; picture.setPointerCapture(event.pointerId); });
  picture.addEventListener("pointermove", (event) => { if (drag) { drag[1] = place(event); later(); } });
  picture.addEventListener("pointerup", () => {
    if (!drag) return;
    const size = range[1] - range[0];
    const [from, to] = [Math.min(...drag), Math.max(...drag)];
    drag = null;
    if (to - from > 4) look(range[0] + share(from) * size, range[0] + share(to) * size); else later();
  });
  picture.addEventListener("pointercancel", () => { drag = null; later(); });
  picture.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    closer(event.deltaY > 0 ? 1.25 : .8, share(place(event)));
  }, { passive: false });
  picture.addEventListener("keydown", (event) => {
    const action = { ArrowLeft: () => move(-.25), ArrowRight: () => move(.25), "+": () => closer(.5), "=": () => closer(.5), "-": () => closer(2), 0: () => look(...whole) }[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  search.addEventListener("input", () => { wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean); if (!wanted.length) wanted = ""; later(); });

  const button = (text, name, action) => make("button", { type: "button", "aria-label": name, title: name, onclick: action }, text);
  courses[index] = {
    show(frame) {
      let best = null;
      for (const pdu of pdus) if (best === null || Math.abs(pdu[0] - frame) < Math.abs(best[0] - frame)) best = pdu;
      if (!best) return;
      marked = at(best);
      search.value = ""; wanted = "";
      const size = Math.min(range[1] - range[0], (whole[1] - whole[0]) / 20);
      look(marked - size / 2, marked + size / 2);
      picture.scrollIntoView({ behavior: "smooth", block: "center" });
    },
  };
  new ResizeObserver(later).observe(picture);
  return make("div", {},
    make("div", { class: "tools" }, search, button("−", "farther away", () => closer(2)), button("+", "closer", () => closer(.5)),
      button("←", "earlier", () => move(-.5)), button("→", "later", () => move(.5)), button("All", "the whole capture", () => look(...whole))),
    picture,
    make("div", { class: "legend" },
      make("span", {}, make("i", { class: "sent" }), "sent by the host"), make("span", {}, make("i", { class: "received" }), "received"),
      make("span", {}, make("i", { class: "error" }), "error response"), make("span", {}, "drag: look closer; Ctrl and wheel, + and −, arrows")),
    said, list);
}

/** Round places on an axis, at most so many. `shift`: what the axis says at 0. */
function ticks([from, to], most, shift) {
  const steps = [1, 2, 5];
  const raw = (to - from) / most, ten = 10 ** Math.floor(Math.log10(raw));
  let step = steps.map((one) => one * ten).find((one) => one >= raw) ?? 10 * ten;
  if (raw > 5) step = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400].find((one) => one >= raw) ?? Math.ceil(raw / 86400) * 86400;
  const digits = step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step)));
  const all = [];
  for (let number = Math.ceil((from + shift) / step); number * step - shift <= to && all.length < 50; number += 1) all.push({ at: number * step - shift, digits });
  return all;
}

// ---- latencies and throughput

/** Median, 95 % and worst on a logarithmic line. */
function latencyBar(latency, least, most) {
  const picture = draw("svg", { viewBox: "0 0 140 12", height: 12, role: "img", "aria-label": `median ${span(latency.medianMs)}, worst ${span(latency.worstMs)}` });
  const x = (value) => 3 + 134 * (Math.log(Math.max(value, least)) - Math.log(least)) / Math.max(1e-9, Math.log(most) - Math.log(least));
  const [median, share, worst] = [latency.medianMs, latency.share95Ms, latency.worstMs].map(x);
  picture.append(draw("path", { class: "stroke-line", d: `M${median} 6H${worst}` }),
    draw("rect", { class: "fill-received", x: median, width: Math.max(1, share - median), y: 3, height: 6, opacity: .55 }),
    draw("rect", { class: "fill-received", x: median - 1, width: 2.5, y: 1, height: 10 }), draw("circle", { class: "fill-error", cx: worst, cy: 6, r: 2.4 }));
  return picture;
}

function extent() {
  const all = captures.flatMap((capture) => [...capture.requests, ...capture.characteristics]).map((one) => one.latency).filter((one) => one.count);
  return [Math.max(1e-3, Math.min(...all.map((one) => one.medianMs))), Math.max(1e-2, ...all.map((one) => one.worstMs))];
}

function troubles(one) {
  const parts = Object.entries(one.errors).map(([name, number]) => `${plain(number)} × ${name}`);
  if (one.timeouts) parts.push(plural(one.timeouts, "time-out"));
  if (one.unanswered) parts.push(`${plain(one.unanswered)} without an answer`);
  if (one.backwardAnswers) parts.push(`${plain(one.backwardAnswers)} answered before asked, by the recorder's clock`);
  if (one.forbiddenWrites) parts.push(plural(one.forbiddenWrites, "forbidden write"));
  return parts.join(", ");
}

/** A name, and below it what went wrong. */
function withTroubles(name, one, more = "") {
  const words = [troubles(one), more].filter(Boolean).join(", ");
  return make("div", {}, name, words ? make("small", {}, words) : null);
}

function requests(capture) {
  if (!capture.requests.length) return null;
  const [least, most] = extent();
  return table(["request", "number", "median", "95 %", "worst", ""], capture.requests.map((one) => [
    withTroubles(one.name, one), plain(one.requests), span(one.latency.medianMs), span(one.latency.share95Ms), span(one.latency.worstMs),
    one.latency.count ? latencyBar(one.latency, least, most) : ""]), { numbers: [1, 2, 3, 4], classes: { 0: "wide" } });
}

function characteristics(capture) {
  if (!capture.characteristics.length) return null;
  const [least, most] = extent(), several = new Set(capture.characteristics.map((one) => one.peer)).size > 1;
  const rows = capture.characteristics.slice(0, 200).map((one) => [
    capture.isText ? "" : hex(one.handle, 4), withTroubles(one.uuid ?? "?", one), ...(several ? [one.servedByHost ? "the host" : one.peer ?? `connection ${one.connection}`] : []),
    plain(one.requests), plain(one.notifications), plain(one.commands), span(one.latency.medianMs), span(one.latency.share95Ms), span(one.latency.worstMs),
    one.latency.count ? latencyBar(one.latency, least, most) : "", plain(one.valueBytes), rate(one.bytesPerSecond)]);
  const shift = several ? 1 : 0;
  return make("div", {}, table([capture.isText ? "" : "handle", "UUID", ...(several ? ["of"] : []), "requests", "notified", "commands", "median", "95 %", "worst", "", "bytes", "rate"], rows,
    { numbers: [2, 3, 4, 5, 6, 7, 9, 10].map((column) => column + shift), classes: { 0: "keep", 1: "uuid", 2: several ? "keep" : null } }),
    capture.characteristics.length > 200 ? make("p", { class: "soft small" }, `The first 200 of ${plain(capture.characteristics.length)}.`) : null);
}

function connections(capture) {
  if (!capture.connections.length) return null;
  const rows = capture.connections.slice(0, 100).map((one) => [
    String(one.connection), withTroubles(one.peer ?? "no address", one, one.encrypted ? "encrypted" : ""), plain(one.pdus), one.mtu ?? "–", span(one.latency.medianMs), span(one.latency.worstMs), plain(one.valueBytes), rate(one.bytesPerSecond),
    plain(one.retransmissions), plain(one.lostParts)]);
  return make("div", {}, table(["", "with", "PDUs", "MTU", "median", "worst", "bytes", "rate", "again", "lost"], rows, { numbers: [2, 3, 4, 5, 6, 7, 8, 9], classes: { 1: "uuid" } }),
    capture.connectionCount > 100 ? make("p", { class: "soft small" }, `The first 100 of ${plain(capture.connectionCount)}.`) : null);
}

// ---- drinks

function drinks(capture) {
  const { days, list, count } = capture.drinks;
  if (!count) return null;
  const chooser = make("select", { "aria-label": "day" }, days.slice().reverse().map(([date]) => make("option", { value: date }, date)));
  const place = make("div", {});
  const show = () => {
    const date = chooser.value, all = list.filter(([at]) => at.startsWith(date)), sum = days.find(([one]) => one === date);
    const most = Math.max(100, ...all.map(([, ml]) => ml)), wide = 480, tall = 110;
    const picture = draw("svg", { class: "day", viewBox: `0 0 ${wide} ${tall + 18}`, role: "img", "aria-label": `drinks of ${date}` });
    for (let hour = 0; hour <= 24; hour += 6) {
      const x = 4 + (wide - 8) * hour / 24;
      picture.append(draw("path", { class: "stroke-line", d: `M${x} 8V${tall}` }),
        draw("text", { x, y: tall + 14, "text-anchor": hour === 0 ? "start" : hour === 24 ? "end" : "middle" }, `${String(hour).padStart(2, "0")}:00`));
    }
    for (const [at, ml, suspect] of all) {
      const [hours, minutes, seconds] = at.slice(11).split(":").map(Number);
      const x = 4 + (wide - 8) * (hours + minutes / 60 + seconds / 3600) / 24, high = (tall - 14) * ml / most;
      picture.append(draw("rect", { class: suspect ? "fill-line" : "fill-sent", x: x - 1.6, width: 3.2, y: tall - high, height: high, rx: 1 }, draw("title", {}, `${at.slice(11)} ${ml} ml`)));
    }
    const lines = all.slice(0, 100).map(([at, ml, suspect, frame, bottle]) => [at.slice(11), `${plain(ml)} ml`, `${suspect ? "suspect, " : ""}frame ${plain(frame)}, ${bottle}`]);
    place.replaceChildren(make("p", {}, `${plural(sum?.[1] ?? 0, "drink")}, ${plain(sum?.[2] ?? 0)} ml`,
      (sum?.[1] ?? 0) > all.length ? make("span", { class: "soft" }, ` (${plain(all.length)} of them in this page)`) : ""), picture,
      make("details", {}, make("summary", {}, "One by one"), table(["", "", ""], lines, { numbers: [1], classes: { 0: "keep", 2: "wide" } })));
  };
  chooser.addEventListener("change", show);
  chooser.selectedIndex = 0;
  show();
  return make("div", {}, make("div", { class: "tools" }, chooser, make("span", { class: "soft small" }, `${plural(count, "drink")} on ${plural(days.length, "day")}, by the bottle's clock`)), place);
}

// ---- GATT tables

const propertyNames = [[1, "broadcast"], [2, "read"], [4, "write without response"], [8, "write"], [16, "notify"], [32, "indicate"], [64, "signed write"], [128, "extended"]];

function tables(capture) {
  const all = capture.tables.filter((one) => one.services.length || one.characteristics.length);
  if (!all.length) return null;
  return make("div", {}, all.map((one) => {
    const inside = (service) => one.characteristics.filter((c) => service.start <= c.handle && c.handle <= service.end);
    const outside = one.characteristics.filter((c) => !one.services.some((service) => service.start <= c.handle && c.handle <= service.end));
    const row = (c) => [capture.isText ? "" : hex(c.handle, 4), c.uuid, propertyNames.filter(([bit]) => c.properties & bit).map(([, name]) => name).join(", ")];
    return make("div", {}, make("h3", {}, one.label + (one.name && !one.label.includes(one.name) ? ` “${one.name}”` : "")),
      table([capture.isText ? "" : "handle", "UUID", "may be"], [
        ...one.services.flatMap((service) => [{ cells: [capture.isText ? "" : `${hex(service.start, 4)}–${hex(service.end, 4)}`, make("b", {}, service.uuid), "service"] }, ...inside(service).map(row)]),
        ...outside.map(row)], { classes: { 0: "keep", 1: "wide", 2: "wide" } }));
  }));
}

// ---- all of it

const links = [];
const add = (title, id, element) => { if (element) { links.push(make("a", { href: `#${id}` }, title)); return element; } return null; };
const head = make("header", {}, make("h1", {}, captures.map(brief).join(" and ")),
  make("p", { class: "soft small" }, `Capture report of ${captures.map((capture) => capture.file).join(" and ")}`));
const sections = [
  section("In short", "short", facts),
  add("Side by side", "comparison", comparison()),
  add("Not as it should be", "odd", section("What is not as it should be", "odd", oddities)),
  add("Course", "course", section("Course", "course", course)),
  add("Latency", "latency", section("From request to answer", "latency", requests, "Bar: median to 95 %, logarithmic; dot: the worst. Of more than 256 answers the first two are up to 1.6 % off.")),
  add("Characteristics", "characteristics", section("Characteristics", "characteristics", characteristics, "A rate counts the time in which something passed; pauses over a second are left out.")),
  add("Connections", "connections", section("Connections", "connections", connections)),
  add("Drinks", "drinks", section("Drinks of the day", "drinks", drinks)),
  add("Tables", "tables", section("GATT tables", "tables", tables)),
];
root.append(head, make("nav", { "aria-label": "parts of this page" }, links), ...sections.filter(Boolean));
