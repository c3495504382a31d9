// A month in three colours: met, partial, nothing; future days are blank. Colour is never the only sign: a met day has
// a tick, and every day has a text.
import { get, query } from './api.js';
import { addMonths, dayLong, dayOfMonth, ml, monthName, weekday } from './format.js';
import { h, setText } from './dom.js';
import { t } from './texts.js';
import { card, complain, iconButton } from './ui.js';

export function month(choose) {
  const title = h('p', { class: 'range', 'aria-live': 'polite' });
  const back = iconButton('previous', t.previousMonth, () => move(-1));
  const forward = iconButton('next', t.nextMonth, () => move(1));
  const grid = h('div', { class: 'month', role: 'group', 'aria-label': t.monthLabel });
  const legend = h('ul', { class: 'legend' }, ['met', 'partial', 'none'].map((kind) => h('li', { 'data-class': kind }, t.classes[kind])));
  const node = card(t.month, { class: 'month-card', head: h('div', { class: 'mover' }, back, title, forward) }, grid, legend);
  let today = null;
  let shown = null;
  let marked = null;
  let first = 1;

  /** `weekStart`: any first day of a week; the rows start with the same weekday. */
  async function load(currentDay, weekStart) {
    if (currentDay && currentDay !== today && shown === today?.slice(0, 7)) shown = null;
    if (currentDay) today = currentDay;
    if (weekStart) first = weekdayOf(weekStart);
    shown ??= today.slice(0, 7);
    draw((await get(`/history${query({ month: shown })}`)).days);
  }

  const weekdayOf = (key) => new Date(`${key}T12:00:00Z`).getUTCDay();

  function draw(days) {
    setText(title, monthName(shown));
    forward.disabled = shown >= today.slice(0, 7);
    const lead = (weekdayOf(days[0].day) - first + 7) % 7;
    // 2024 started on a Monday: its first seven days have the names.
    const names = Array.from({ length: 7 }, (_, index) => weekday(`2024-01-${String(((first + 6) % 7) + 1 + index).padStart(2, '0')}`));
    const had = grid.contains(document.activeElement) ? document.activeElement.dataset.day : null;
    grid.replaceChildren(
      ...names.map((name) => h('span', { class: 'month-name', 'aria-hidden': 'true' }, name)),
      ...Array.from({ length: lead }, () => h('span')),
      ...days.map((each) => {
        if (each.class === null) return h('span', { class: 'month-day', 'data-class': 'future' }, dayOfMonth(each.day));
        const words = `${dayLong(each.day)}: ${t.classes[each.class]}, ${t.ofGoal(ml(each.totalMl), ml(each.goalMl))}`;
        return h('button', {
          type: 'button', class: `month-day${each.day === today ? ' is-today' : ''}`, 'data-day': each.day, 'data-class': each.class, 'aria-label': words,
          onclick: () => choose(each.day, { isByHand: true }),
        }, h('span', { 'aria-hidden': 'true' }, dayOfMonth(each.day)));
      }));
    if (had) grid.querySelector(`[data-day="${had}"]`)?.focus();
    mark(marked);
  }

  function move(months) {
    shown = addMonths(shown, months);
    load().catch(complain);
  }

  function mark(day) {
    marked = day;
    for (const each of grid.querySelectorAll('button')) each.setAttribute('aria-pressed', String(each.dataset.day === day));
  }

  return { node, load, mark };
}
