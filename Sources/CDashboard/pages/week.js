// Seven bars with each day's goal line. A swipe or the arrow keys show the week before or after.
import { get, query } from './api.js';
import { addDays, dayLong, dayShort, ml, mlShort, weekday } from './format.js';
import { h, setText, setVariables } from './dom.js';
import { live } from './live.js';
import { t } from './texts.js';
import { card, complain, iconButton } from './ui.js';

/** The minimum length of a swipe, px; it must be more horizontal than vertical. */
const SWIPE = 40;

export function week(choose) {
  const title = h('p', { class: 'range', 'aria-live': 'polite' });
  const back = iconButton('previous', t.previousWeek, () => move(-1));
  const forward = iconButton('next', t.nextWeek, () => move(1));
  const bars = h('div', { class: 'bars', role: 'group', 'aria-label': t.weekLabel });
  const total = h('p', { class: 'week-sum' });
  const unit = h('p', { class: 'bars-in' });
  const node = card(t.week, { class: 'week-card', head: h('div', { class: 'mover' }, back, title, forward) }, bars,
    h('div', { class: 'week-foot' }, total, unit));
  let today = null;
  let first = null;
  let days = [];
  let marked = null;

  async function load(currentDay) {
    // While the current week is shown, the next one is shown when it starts.
    if (currentDay && currentDay !== today && days.some((each) => each.day === today)) first = null;
    if (currentDay) today = currentDay;
    const answer = await get(`/history${query({ week: first ?? today })}`);
    days = answer.days;
    draw(answer);
    return days[0].day;
  }

  function draw(answer) {
    first = days[0].day;
    setText(title, `${dayShort(first)} – ${dayShort(days[6].day)}`);
    forward.disabled = days.some((each) => each.day >= today);
    const words = days.some((each) => each.day === today) ? t.weekSum : t.thatWeekSum;
    setText(total, words(ml(answer.totalMl ?? days.reduce((sum, each) => sum + (each.totalMl ?? 0), 0))));
    setText(unit, live.state?.units === 'oz' ? t.barsIn.oz : t.barsIn.l);
    const top = Math.max(...days.map((each) => Math.max(each.totalMl ?? 0, each.goalMl ?? 0)), 1) * 1.08;
    const had = bars.contains(document.activeElement) ? document.activeElement.dataset.day : null;
    bars.replaceChildren(...days.map((each) => bar(each, top)));
    if (had) (bars.querySelector(`[data-day="${had}"]`) ?? bars.querySelector('button'))?.focus();
    mark(marked);
  }

  function bar(each, top) {
    const isFuture = each.totalMl === null || each.totalMl === undefined;
    const words = isFuture ? t.noDayYet(dayLong(each.day)) : `${dayLong(each.day)}: ${t.ofGoal(ml(each.totalMl), ml(each.goalMl))}`;
    const element = h(isFuture ? 'div' : 'button', {
      class: 'bar', 'data-day': each.day, 'data-class': each.class ?? 'future', 'aria-label': isFuture ? null : words, type: isFuture ? null : 'button',
      onclick: isFuture ? undefined : () => choose(each.day, { isByHand: true }),
    },
    h('span', { class: 'bar-amount', 'aria-hidden': 'true' }, isFuture || each.totalMl === 0 ? '' : mlShort(each.totalMl)),
    h('span', { class: 'bar-field', 'aria-hidden': 'true' }, !isFuture && h('span', { class: 'bar-fill' }), each.goalMl && h('span', { class: 'bar-goal' })),
    h('span', { class: 'bar-day', 'aria-hidden': 'true' }, weekday(each.day)));
    if (each.day === today) element.classList.add('is-today');
    setVariables(element, { '--fill': String((each.totalMl ?? 0) / top), '--goal': String((each.goalMl ?? 0) / top) });
    return element;
  }

  function move(weeks) {
    if (weeks > 0 && forward.disabled) return;
    first = addDays(first ?? today, weeks * 7);
    load().then(() => { if (document.activeElement === document.body) (forward.disabled ? back : forward).focus(); }).catch(complain);
  }

  function mark(day) {
    marked = day;
    for (const each of bars.children) {
      if (each.tagName === 'BUTTON') each.setAttribute('aria-pressed', String(each.dataset.day === day));
    }
  }

  node.addEventListener('keydown', (event) => {
    const side = document.documentElement.dir === 'rtl' ? -1 : 1;
    if (event.key === 'ArrowLeft') move(-side);
    else if (event.key === 'ArrowRight') move(side);
    else return;
    event.preventDefault();
  });
  let start = null;
  bars.addEventListener('pointerdown', (event) => { start = { x: event.clientX, y: event.clientY }; });
  addEventListener('pointerup', (event) => {
    if (!start || !node.isConnected) return;
    const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
    start = null;
    const side = document.documentElement.dir === 'rtl' ? -1 : 1;
    if (Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) move(dx > 0 ? -side : side);
  });
  return { node, load, mark };
}
