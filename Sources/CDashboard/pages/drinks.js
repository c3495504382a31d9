import { get, query, request } from './api.js';
import { announce, dialog, field, iconButton, toast } from './ui.js';
import { clock, fieldMl, inUnits, ml, typedMl } from './format.js';
import { h, icon, keyedRows, setText } from './dom.js';
import { acceptState, live, serviceNow } from './live.js';
import { enqueue, isoOf } from './queue.js';
import { said, t } from './texts.js';

/** While the service is unavailable a tap gets the present time; otherwise the service dates it. */
export const whenAway = () => (live.isUp === false ? { at: isoOf(serviceNow()) } : {});

export async function logDrink(amount) {
  if (navigator.vibrate && navigator.userActivation?.hasBeenActive) navigator.vibrate(15);
  if (live.isUp === false) announce(t.kept);
  const answer = await enqueue('POST', '/drinks', { ml: amount, ...whenAway() });
  acceptState(answer.state);
  // A repeated response may lack the drink's ID. An undo of the last change could then affect another change.
  toast(t.logged(ml(amount)), answer.drink ? { action: t.undo, onaction: () => undo({ drink: `d${answer.drink.number}` }) } : {});
}

const CHANGES = [
  [/^log (\d+) ml$/, 'log'], [/^edit of (\d+) ml$/, 'edit'], [/^deletion of (\d+) ml$/, 'deletion'], [/^reset of today \((\d+) drinks?\)$/, 'reset'],
  [/^drink$/, 'drink'], [/^water$/, 'water'], [/^edit of a drink$/, 'editDrink'], [/^edit of a water$/, 'editWater'],
  [/^deletion of a drink$/, 'deleteDrink'], [/^deletion of a water$/, 'deleteWater'], [/^exclusion of a bottle's water$/, 'exclusion'],
];

function changeWords(text) {
  for (const [pattern, kind] of CHANGES) {
    const [, count] = pattern.exec(text) ?? [null, null];
    if (pattern.test(text)) return t.changes[kind](count && (kind === 'reset' ? Number(count) : ml(Number(count))));
  }
  return said(text);
}

/** Undoes a change: by default the last one of Today, else for example `{ drink: 'd12' }`, `{ of: 'session' }`. */
export async function undo(which = { of: 'today' }) {
  try {
    const answer = await request('POST', '/undo', which);
    acceptState(answer.state);
    toast(t.undone(changeWords(answer.undone)));
  } catch (error) {
    toast(error.message, { isProblem: true });
  }
}

/** 1–2000 ml, checked before sending, so that a queued write is not rejected hours later. */
export function amountOf(input) {
  const value = typedMl(input.value);
  if (value === null || value < 1 || value > 2000) throw new Error(t.amountRule);
  return value;
}

export const amountInput = (value) => h('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off', required: true, value: value ?? '' });

export function askAmount() {
  const input = amountInput();
  dialog(t.customTitle, field(inUnits(t.amountLabel), input, { hint: t.amountHint }), {
    save: t.add, onsave: async () => { logDrink(amountOf(input)).catch((error) => toast(error.message, { isProblem: true })); },
  });
}

/** Changes a drink of the list. A drink that was changed or deleted elsewhere has another ID: then the list is read
 *  again. */
async function change(method, drink, changed, body) {
  try {
    const answer = await request(method, `/drinks/d${drink.number}`, body);
    acceptState(answer?.state);
  } catch (error) {
    if (error.code !== 'noSuchDrink') throw error;
    changed();
    throw new Error(t.drinkGone);
  }
  changed();
}

function editDrink(drink, changed) {
  const stood = fieldMl(drink.ml);
  const amount = amountInput(stood);
  const before = clock(drink.at, drink.zone);
  const time = h('input', { type: 'time', required: true, value: before });
  dialog(t.editDrink, [field(inUnits(t.amountLabel), amount, { hint: t.amountHint }), field(t.timeLabel, time)], {
    onsave: async () => {
      const body = {};
      // An unchanged amount stays exact: the field shows tenths of an ounce.
      if (amount.value !== stood && amountOf(amount) !== drink.ml) body.ml = amountOf(amount);
      if (!time.value) throw new Error(t.timeRule);
      // The local time where it was drunk, on the day of the list. The service determines the date and the instant.
      if (time.value !== before) body.time = time.value.slice(0, 5);
      if (!Object.keys(body).length) return;
      await change('PATCH', drink, changed, body);
    },
  });
}

async function deleteDrink(drink, changed) {
  await change('DELETE', drink, changed);
  toast(t.deleted(ml(drink.ml), clock(drink.at, drink.zone)), { action: t.undo, onaction: () => undo({ drink: `d${drink.number}` }).then(changed) });
}

/** The list of one day, newest first. `load('today')`, or a date, returns the loaded list. `changed` is called after
 *  an edit. */
export function drinkList(changed = null) {
  const list = h('ul', { class: 'drinks' });
  const empty = h('p', { class: 'empty', hidden: true }, t.noDrinks);
  let day = 'today';
  let turn = 0;
  const rows = keyedRows(list, (drink) => drink.key, () => {
    const time = h('time');
    const amount = h('strong');
    const from = h('span', { class: 'from' });
    const row = h('li', {}, icon('drop', 'row-drop'), h('span', { class: 'row-text' }, time, amount, from),
      iconButton('edit', t.edit, () => editDrink(row.drink, reload)),
      iconButton('bin', t.delete, () => deleteDrink(row.drink, reload).catch((error) => toast(error.message, { isProblem: true }))));
    Object.assign(row, { time, amount, from });
    return row;
  }, (row, drink) => {
    row.drink = drink;
    setText(row.time, clock(drink.at, drink.zone));
    row.time.setAttribute('datetime', drink.at);
    setText(row.amount, ml(drink.ml));
    setText(row.from, t.sources[drink.source] ?? '');
    const [edit, bin] = row.querySelectorAll('button');
    const which = `${ml(drink.ml)}, ${clock(drink.at, drink.zone)}`;
    edit.setAttribute('aria-label', `${t.edit}: ${which}`);
    bin.setAttribute('aria-label', `${t.delete}: ${which}`);
  });

  async function load(wanted) {
    day = wanted;
    turn += 1;
    const mine = turn;
    const answer = await get(`/history${query({ day })}`);
    if (mine !== turn) return null;
    const drinks = [...answer.drinks].sort((left, right) => (left.at < right.at ? 1 : left.at > right.at ? -1 : right.number - left.number));
    rows(drinks);
    empty.hidden = drinks.length > 0;
    return answer;
  }

  const reload = () => (changed ? changed() : load(day).catch(() => {}));
  return { node: h('div', { class: 'drink-list' }, list, empty), load };
}
