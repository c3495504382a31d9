// Why a reminder came, or did not: of each kind whether it is told, the condition that decided, what would change it, and all the
// facts. The service says it, in its own sentences; here it is only laid out.
import { get, query } from './api.js';
import { h, icon } from './dom.js';
import { live } from './live.js';
import { said, t } from './texts.js';
import { act, card, field } from './ui.js';

export function why() {
  const body = h('div', { class: 'why', 'aria-live': 'polite' });
  const time = h('input', { type: 'time' });

  async function load() {
    let answer;
    try { answer = await get(`/why${query({ at: time.value || null })}`); } catch (problem) {
      body.replaceChildren(h('p', { class: 'empty' }, said(problem.message)));
      return;
    }
    const isWaterlineShown = live.state?.service?.waterlineShown !== false;
    // What stands open stays open when the same is explained anew.
    const open = new Set([...body.querySelectorAll('details[open]')].map((each) => each.dataset.kind));
    body.replaceChildren(...answer.reminders.filter((each) => isWaterlineShown || !each.kind.startsWith('waterline')).map((each) => explain(each, open.has(each.kind))));
  }

  function explain(reminder, isOpen) {
    const deciding = reminder.conditions.filter((each) => !each.holds);
    // The one that was asked first is the reason; the others would each have been enough too.
    const first = deciding[0];
    return h('details', { 'data-kind': reminder.kind, 'data-told': String(reminder.told), open: isOpen },
      h('summary', {}, h('span', { class: 'why-kind' }, t.kinds[reminder.kind] ?? reminder.kind, h('strong', {}, reminder.told ? t.told : t.silent)),
        h('span', { class: 'why-fact' }, first ? said(first.fact) : t.allHold)),
      first && h('p', { class: 'why-change' }, h('strong', {}, `${t.wouldChange} `), said(first.change)),
      h('ul', { class: 'conditions' }, reminder.conditions.map((each) => h('li', { 'data-holds': String(each.holds) },
        icon(each.holds ? 'check' : 'stop'), h('span', { class: 'unseen' }, each.holds ? t.holds : t.stops), h('span', {}, said(each.fact))))));
  }

  const form = h('form', { class: 'why-form', onsubmit: act(load) }, field(t.whyAt, time), h('button', { type: 'submit', class: 'quiet' }, t.explain));
  return { node: card(t.why, { class: 'why-card' }, h('p', { class: 'note' }, t.whyWords), body, form), load };
}
