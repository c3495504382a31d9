import { duration, instant, number, signed, volume } from './format.js';
import { h, setText, svg } from './dom.js';
import { t } from './texts.js';
import { timeline } from './timeline.js';

export function summary(units, options) {
  const facts = h('dl', { class: 'counts' });
  const picture = h('div', { class: 'picture' });
  const entries = timeline(units, options);
  return {
    node: h('div', { class: 'summary' }, picture, facts),
    entries: entries.node,
    update(session) {
      const sum = session.summary;
      if (!sum) return;
      facts.replaceChildren(...[
        [t.duration, duration(sum.durationSeconds)],
        [t.drinks, number(sum.drinks)],
        [t.standardDrinks, number(sum.standardDrinks)],
        [t.waters, sum.waterOz ? `${number(sum.waters)} (${volume(sum.waterOz, units())})` : number(sum.waters)],
        [t.adherence, sum.adherencePercent === null ? t.notApplicable : `${sum.adherencePercent} %`],
        [t.finalValue, signed(sum.finalValue)],
      ].map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
      picture.replaceChildren(draw(session));
      entries.update(session);
    },
  };
}

function draw(session) {
  const [width, height] = [320, 110];
  const start = instant(session.startTime).getTime();
  const end = Math.max(start + 60_000, instant(session.endTime ?? Date.now() / 1000).getTime());
  const logs = [...session.logs].sort((left, right) => (left.at < right.at ? -1 : 1));
  let value = 0;
  const points = logs.map((log) => {
    value += log.type === 'alcohol' ? log.standardDrinkEstimate ?? 1 : -1;
    return { at: instant(log.at).getTime(), value, type: log.type };
  });
  const reach = Math.max(2, ...points.map((point) => Math.abs(point.value)));
  const x = (at) => 10 + ((at - start) / (end - start)) * (width - 20);
  const y = (each) => height / 2 - (each / reach) * (height / 2 - 12);
  let line = `M${x(start)} ${y(0)}`;
  for (const point of points) line += `H${x(point.at).toFixed(1)}V${y(point.value).toFixed(1)}`;
  line += `H${x(end)}`;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': t.pictureWords(session.summary) },
    svg('line', { class: 'centre-line', x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    svg('path', { class: 'value-line', d: line, fill: 'none' }),
    ...points.map((point) => svg('circle', { class: `dot ${point.type}`, cx: x(point.at).toFixed(1), cy: y(point.value).toFixed(1), r: 5 })));
  setText(picture.appendChild(svg('title')), t.summary);
  return picture;
}
