// The entries of a session, oldest first. Each can be edited; a water from the bottle's sips can only be excluded.
import { request } from './api.js';
import { clock, number, volume, wallDate } from './format.js';
import { h, icon, keyedRows, setText, show } from './dom.js';
import { acceptSession, ask } from './live.js';
import { t } from './texts.js';
import { complain, dialog, field, iconButton } from './ui.js';

export function timeline(units, { isReadOnly = false } = {}) {
  const list = h('ol', { class: 'timeline' });
  const empty = h('p', { class: 'empty' }, t.noEntries);
  let session = null;

  async function change(promise) {
    acceptSession(await promise);
    ask();
  }

  function edit(entry) {
    const before = clock(entry.at);
    const time = h('input', { type: 'time', required: true, value: before });
    const isDrink = entry.type === 'alcohol';
    const amount = h('input', { type: 'number', inputmode: 'decimal', step: 'any', required: true,
      min: 0.1, max: isDrink ? 10 : 100, value: isDrink ? entry.standardDrinkEstimate : entry.amountOz });
    dialog(isDrink ? t.editEntryDrink : t.editEntryWater, [
      field(isDrink ? t.estimate : t.amountOz, amount), field(t.timeLabel, time),
    ], { onsave: async () => {
      const body = {};
      if (!time.value) throw new Error(t.timeRule);
      if (time.value !== before) body.at = `${onDate(entry, time.value)}T${time.value}`;
      const value = Number(amount.value);
      if (value !== (isDrink ? entry.standardDrinkEstimate : entry.amountOz)) body[isDrink ? 'estimate' : 'oz'] = value;
      if (Object.keys(body).length) await change(request('PATCH', `/session/logs/${entry.name}`, body));
    } });
  }

  /** A session can pass midnight: a time belongs to the date of the session that is nearest to the entry. */
  function onDate(entry, time) {
    const dates = new Set([wallDate(session.startTime), wallDate(entry.at), session.endTime ? wallDate(session.endTime) : wallDate(Date.now() / 1000)]);
    const base = Date.parse(`${wallDate(entry.at)}T${clock(entry.at)}Z`);
    return [...dates].sort((left, right) => Math.abs(Date.parse(`${left}T${time}Z`) - base) - Math.abs(Date.parse(`${right}T${time}Z`) - base))[0];
  }

  const rows = keyedRows(list, (entry) => entry.id, () => {
    const time = h('time');
    const what = h('strong');
    const more = h('span', { class: 'from' });
    const pencil = iconButton('edit', t.edit, () => edit(row.entry));
    const bin = iconButton('bin', t.delete, () => change(request('DELETE', `/session/logs/${row.entry.name ?? row.entry.id}`)).catch(complain));
    const symbol = h('span', { class: 'entry-symbol' });
    const row = h('li', {}, symbol, h('span', { class: 'row-text' }, time, what, more), !isReadOnly && pencil, !isReadOnly && bin);
    Object.assign(row, { time, what, more, pencil, bin, symbol });
    return row;
  }, (row, entry) => {
    row.entry = entry;
    const isDrink = entry.type === 'alcohol';
    const isDerived = entry.source === 'bottle';
    row.dataset.type = entry.type;
    if (!row.symbol.firstChild) row.symbol.append(icon(isDrink ? 'glass' : 'drop'));
    setText(row.time, clock(entry.at));
    setText(row.what, isDrink ? (entry.presetName ?? t.types[entry.drinkType] ?? t.aDrink) : t.aWater);
    setText(row.more, [isDrink ? t.standard(number(entry.standardDrinkEstimate ?? 1)) : entry.amountOz && volume(entry.amountOz, units()), isDerived && t.sources.bottle].filter(Boolean).join(' · '));
    show(row.pencil, !isDerived);
    const which = `${row.what.textContent}, ${clock(entry.at)}`;
    row.pencil.setAttribute('aria-label', `${t.edit}: ${which}`);
    row.bin.setAttribute('aria-label', `${isDerived ? t.exclude : t.delete}: ${which}`);
    row.bin.title = isDerived ? t.exclude : t.delete;
  });

  return {
    node: h('div', {}, list, empty),
    update(next) {
      session = next;
      rows([...next.logs].sort((left, right) => (left.at < right.at ? -1 : left.at > right.at ? 1 : 0)));
      empty.hidden = next.logs.length > 0;
    },
  };
}
