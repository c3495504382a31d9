// Twelve months: the daily average of each, over the days since the first drink, and the best day.
import { get, query } from './api.js';
import { addMonths, dayLong, dayShort, ml, mlShort, monthName, monthShort } from './format.js';
import { h, setText, setVariables } from './dom.js';
import { t } from './texts.js';
import { card } from './ui.js';

export function year() {
  const bars = h('ol', { class: 'bars year' });
  const words = h('p', { class: 'week-sum' });
  const node = card(t.year, { class: 'year-card', hidden: true }, bars, words);
  const average = (days) => (days.length ? days.reduce((sum, each) => sum + each.totalMl, 0) / days.length : 0);

  async function load(today) {
    const names = Array.from({ length: 12 }, (_, index) => addMonths(today.slice(0, 7), index - 11));
    const months = await Promise.all(names.map(async (month) => (await get(`/history${query({ month })}`)).days));
    const past = months.flat().filter((each) => each.class !== null);
    const first = past.find((each) => each.totalMl > 0)?.day;
    node.hidden = !first;
    if (!first) return;
    const counted = past.filter((each) => each.day >= first);
    const best = counted.reduce((top, each) => (each.totalMl > top.totalMl ? each : top));
    const averages = names.map((name) => average(counted.filter((each) => each.day.startsWith(name))));
    const top = Math.max(...averages) * 1.08;
    bars.replaceChildren(...names.map((name, index) => {
      const element = h('li', { class: 'year-bar', 'data-class': averages[index] ? null : 'none' }, h('span', { class: 'bar-amount', 'aria-hidden': 'true' }, averages[index] ? mlShort(averages[index]) : ''),
        h('span', { class: 'bar-field' }, h('span', { class: 'bar-fill' })), h('span', { class: 'bar-day', 'aria-hidden': 'true' }, monthShort(name)),
        h('span', { class: 'unseen' }, `${monthName(name)}: ${t.averageDay(ml(Math.round(averages[index])))}`));
      setVariables(element, { '--fill': String(averages[index] / top) });
      return element;
    }));
    setText(words, `${t.averageDay(ml(Math.round(average(counted))))} · ${t.bestDay(ml(best.totalMl), best.day.slice(0, 4) === today.slice(0, 4) ? dayLong(best.day) : `${dayShort(best.day)} ${best.day.slice(0, 4)}`)}`);
  }

  return { node, load };
}
