// Goal and schedule. Cancel discards; Save sends only changed values: 1700 ml stay 1700, although not a multiple of a
// glass.
import { request } from './api.js';
import { h, setText, show } from './dom.js';
import { fieldMl, goals, inUnits, litres, ml, typedMl } from './format.js';
import { ask } from './live.js';
import { said, t } from './texts.js';
import { announce, card, field, option, stepperField } from './ui.js';

const quarters = (from, to) => Array.from({ length: (to - from + 1) * 4 }, (_, index) =>
  `${String(from + Math.floor(index / 4)).padStart(2, '0')}:${String((index % 4) * 15).padStart(2, '0')}`);

export function goalForm(values) {
  let stands = values;
  const touched = {};
  const glass = () => stands['hydration.glassMl'];
  const glasses = h('input', { type: 'number', inputmode: 'numeric', min: 4, max: 16, step: 1 });
  const total = h('output', { class: 'goal-total' });
  // A number field cannot have a unit, so it is used for millilitres only.
  const isPlain = fieldMl(goals.usual) === String(goals.usual);
  const exact = isPlain ? h('input', { type: 'number', inputmode: 'numeric', min: goals.least, max: goals.most, step: 'any' }) : h('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off' });
  const time = (name, from, to) => {
    const list = quarters(from, to);
    const own = stands[name];
    // An imported time that is not a multiple of 15 min is kept.
    return h('select', { onchange: (event) => { touched[name] = event.target.value; } },
      (list.includes(own) ? list : [own, ...list]).map((each) => option(each, each)));
  };
  const wake = time('schedule.wake', 4, 11);
  const sleep = time('schedule.sleep', 18, 23);
  const error = h('p', { class: 'error', role: 'alert', hidden: true });
  const saved = h('span', { class: 'saved', hidden: true }, t.saved);

  function showGoal(goal, { but } = {}) {
    if (but !== glasses) glasses.value = String(Math.ceil(goal / glass()));
    if (but !== exact) exact.value = fieldMl(goal);
    setText(total, t.goalTotal(ml(goal), litres(goal)));
  }

  function fill() {
    for (const name of Object.keys(touched)) delete touched[name];
    showGoal(stands['hydration.goalMl']);
    wake.value = stands['schedule.wake'];
    sleep.value = stands['schedule.sleep'];
    show(error, false);
  }

  glasses.addEventListener('input', () => {
    if (glasses.value === '') return;
    touched['hydration.goalMl'] = Number(glasses.value) * glass();
    showGoal(touched['hydration.goalMl'], { but: glasses });
  });
  exact.addEventListener('input', () => {
    const typed = isPlain ? Number(exact.value) : typedMl(exact.value);
    if (exact.value === '') return;
    // An invalid amount is sent unchanged: the service's error contains the rule.
    touched['hydration.goalMl'] = typed ?? exact.value;
    if (typed === null) return;
    showGoal(touched['hydration.goalMl'], { but: exact });
  });
  const step = (by) => {
    // Rounds to the next glass: from 1700 ml with glasses of 200 ml up to 1800 or down to 1600.
    const goal = (Number(touched['hydration.goalMl']) || stands['hydration.goalMl']) / glass();
    const next = by > 0 ? Math.floor(goal) + 1 : Math.ceil(goal) - 1;
    if (by > 0 ? next > 16 : next < 4) return;
    touched['hydration.goalMl'] = next * glass();
    showGoal(next * glass());
  };

  const form = h('form', { class: 'goal-form', novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    const changes = Object.fromEntries(Object.entries(touched).filter(([name, value]) => value !== stands[name]));
    try {
      if (Object.keys(changes).length) {
        const all = await request('PATCH', '/settings', changes);
        stands = { ...stands, ...changes, ...(all ?? {}) };
        ask();
      }
      fill();
      show(saved, true);
      announce(t.saved);
      setTimeout(() => show(saved, false), 2500);
    } catch (problem) {
      setText(error, said(problem.message));
      show(error, true);
    }
  } },
  h('div', { class: 'goal-fields' },
    stepperField(t.glasses, glasses, step), field(inUnits(t.exactGoal), exact), field(t.wake, wake), field(t.sleep, sleep)),
  total, error,
  h('div', { class: 'actions' }, saved,
    h('button', { type: 'button', class: 'quiet', onclick: () => { fill(); announce(t.discarded); } }, t.cancel),
    h('button', { type: 'submit', class: 'primary' }, t.save)));
  fill();
  return card(t.goalAndSchedule, { class: 'goal-card' }, form);
}
