import { bottleLine } from './bottle-line.js';
import { confetti, crossesGoal } from './confetti.js';
import { askAmount, drinkList, logDrink, undo } from './drinks.js';
import { dayLong, ml } from './format.js';
import { h, icon, setDrawn, setText, show } from './dom.js';
import { halo } from './halo.js';
import { ask, live, on } from './live.js';
import { remembered } from './memory.js';
import { loadEngine, nextDrink, secondsLeft } from './next-drink.js';
import { said, t } from './texts.js';
import { act, card, complain } from './ui.js';
import { vessel } from './vessel.js';
import { why } from './why.js';

export function today(root) {
  const greeting = h('h2', { class: 'greeting', tabindex: '-1' });
  const date = h('p', { class: 'date' });
  const behind = h('p', { class: 'behind' });
  const amount = h('p', { class: 'amount' });
  const percent = h('span', { class: 'percent' });
  const cup = vessel(() => { cup.splash(); logDrink(live.state?.cupMl ?? 250).catch(complain); });
  const shapes = h('div', { class: 'segments', role: 'group', 'aria-label': t.shapeLabel },
    ['cup', 'figure'].map((kind) => h('button', {
      type: 'button', 'data-kind': kind, 'aria-label': t.shapes[kind], title: t.shapes[kind],
      onclick: () => { remembered.shape = kind; showShape(); },
    }, icon(kind))));
  const quick = h('div', { class: 'quick', role: 'group', 'aria-label': t.quickLabel });
  const ring = halo('page');
  const headline = h('p', { class: 'headline' });
  const caption = h('p', { class: 'caption' });
  // In a narrow window the ring is further down, so the countdown is also here, hidden from screen readers.
  const soonTime = h('strong');
  const soonWords = h('span');
  const soon = h('p', { class: 'soon', 'aria-hidden': 'true' }, soonTime, soonWords);
  const list = drinkList();
  const line = bottleLine();

  root.append(
    h('div', { class: 'today-head' }, h('div', {}, greeting, date), soon),
    h('div', { class: 'today' },
      h('section', { class: 'card cup-card', 'aria-label': t.cupSection },
        h('div', { class: 'cup-head' }, amount, shapes, h('div', { class: 'cup-pace' }, behind, percent)),
        cup.node, quick),
      h('section', { class: 'card halo-card', 'aria-label': t.nextDrink }, ring.node, h('div', { class: 'halo-words', role: 'timer', 'aria-live': 'off' }, headline, caption), why((kind) => ['pace', 'interval', 'adaptive'].includes(kind))),
      line.node,
      card(t.today, { class: 'list-card', head: h('button', { class: 'plain', type: 'button', onclick: act(() => undo()) }, icon('undo'), t.undo) }, list.node)));

  function showShape() {
    const kind = remembered.shape === 'figure' ? 'figure' : 'cup';
    cup.shapeAs(kind);
    for (const button of shapes.children) button.setAttribute('aria-pressed', String(button.dataset.kind === kind));
  }

  let quickShown = '';
  function showQuick(amounts) {
    if (quickShown === String(amounts)) return;
    quickShown = String(amounts);
    quick.replaceChildren(
      ...amounts.map((each) => h('button', { type: 'button', class: 'chip', onclick: () => logDrink(each).catch(complain) }, `+${ml(each)}`)),
      h('button', { type: 'button', class: 'chip', onclick: askAmount }, t.custom));
  }

  let asked = null;
  /** Updates the countdown each second between two states. At 0 the state is requested from the service. */
  function tick() {
    const state = live.state;
    if (!state) return;
    if (secondsLeft() <= 0 && secondsLeft() !== null && asked !== state.dueTime && live.isUp) {
      asked = state.dueTime;
      ask();
    }
    const next = nextDrink(state);
    setDrawn(headline, next.text);
    headline.classList.toggle('long', !/^\d/.test(next.text));
    setText(caption, next.caption);
    show(caption, Boolean(next.caption));
    setText(soonTime, state.isGoalAchieved ? '' : next.text);
    soon.classList.toggle('long', headline.classList.contains('long'));
    setText(soonWords, next.caption);
  }

  let listed = '';
  function update(state) {
    setText(greeting, said(state.greeting));
    setText(date, dayLong(state.dayKey));
    setText(amount, t.amount(state));
    setText(percent, `${state.percent} %`);
    setDrawn(behind, said(state.isGoalAchieved ? state.statusText : state.behindText));
    behind.dataset.urgency = state.displayUrgency;
    cup.update(state, { hint: `+${ml(state.cupMl)}`, label: t.cupLabel(state, ml(state.cupMl)) });
    ring.update(state);
    showQuick(state.quickAddMl ?? []);
    tick();
    if (crossesGoal(state)) confetti();
    // Read the list again only if the day's drinks differ from it.
    const drinks = JSON.stringify([state.dayKey, state.drinkCount, state.state?.history]);
    if (drinks !== listed && !live.isFromMemory) {
      listed = drinks;
      list.load('today').catch(() => { listed = ''; });
    }
  }

  showShape();
  loadEngine().then(tick);
  const stops = [on('state', update), line.stop];
  const timer = setInterval(tick, 1000);
  return () => {
    clearInterval(timer);
    for (const stop of stops) stop();
  };
}
