// Why a reminder is or is not sent: one sentence for the reason and one for the remedy, from the service.
import { get } from './api.js';
import { h } from './dom.js';
import { said, t } from './texts.js';

/** Replaces the keys of settings in a sentence by their names, and removes parentheses that only repeat them. */
const plain = (text) => said(text).replace(/ \([a-z]+\.[\w., ]+\)/g, '').replace(/\b[a-z]+\.[a-z]\w*\b/g, (key) => (t.settings[key] ? `“${t.settings[key][0]}”` : key));

/** The reminders of `isWanted(kind)`, read each time it is opened. Reminders of other engines are left out. */
export function why(isWanted) {
  const list = h('dl');
  const load = async () => {
    try {
      const { reminders } = await get('/why');
      list.replaceChildren(...reminders.filter((each) => isWanted(each.kind) && each.conditions.every((it) => it.name !== 'engineChosen' || it.holds)).flatMap(explain));
    } catch (problem) { list.replaceChildren(h('dd', {}, said(problem.message))); }
  };
  return h('details', { class: 'why', ontoggle: ({ target }) => { if (target.open) load(); } }, h('summary', {}, t.why), list);
}

function explain(reminder) {
  const stop = reminder.conditions.find((each) => !each.holds);
  return [h('dt', { 'data-kind': reminder.kind }, `${t.kinds[reminder.kind] ?? reminder.kind}: ${reminder.told ? t.told : t.silent}`),
    h('dd', {}, stop ? `${plain(stop.fact)} ${t.wouldChange} ${plain(stop.change)}` : t.allHold)];
}
