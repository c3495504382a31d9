// Why a reminder came, or did not: the facts, the guard that decided, and what would change it. The service says it; here it is shown.
import { get, query } from './api.js';
import { h, setText } from './dom.js';
import { wallDate } from './format.js';
import { live } from './live.js';
import { said, t } from './texts.js';
import { act, card, field } from './ui.js';

/** `remindersSent` reads as "reminders sent". */
const words = (key) => t.facts[key] ?? key.replace(/([A-Z])/g, ' $1').toLowerCase();

function value(each) {
  if (each === null || each === undefined) return '–';
  if (typeof each === 'boolean') return each ? t.yes : t.no;
  if (Array.isArray(each)) return each.map(value).join(', ');
  if (typeof each === 'object') return Object.entries(each).map(([key, inner]) => `${words(key)} ${value(inner)}`).join(', ');
  return said(String(each));
}

const sentence = (each) => (typeof each === 'string' ? said(each) : each?.sentence ? said(each.sentence) : each?.text ? said(each.text) : value(each));

export function why() {
  const body = h('div', { class: 'why', 'aria-live': 'polite' });
  const time = h('input', { type: 'time' });

  async function load() {
    const at = time.value ? `${wallDate(live.state?.timestamp ?? Date.now() / 1000)}T${time.value}` : null;
    let answer;
    try { answer = await get(`/why${query({ at })}`); } catch (problem) {
      body.replaceChildren(h('p', { class: 'empty' }, said(problem.message)));
      return;
    }
    const decision = answer.sentence ?? answer.decision ?? answer.text;
    const changes = [answer.change ?? answer.changes ?? []].flat();
    const facts = Array.isArray(answer.facts) ? answer.facts.map((each) => (typeof each === 'string' ? ['', each] : [each.name ?? each.fact ?? '', each.value ?? each.text ?? each]))
      : Object.entries(answer.facts ?? {});
    body.replaceChildren(...[
      decision && h('p', { class: 'decision' }, sentence(decision)),
      answer.guard && h('p', {}, h('strong', {}, `${t.guard}: `), sentence(answer.guard)),
      changes.length > 0 && h('div', {}, h('strong', {}, t.wouldChange), h('ul', {}, changes.map((each) => h('li', {}, sentence(each))))),
      facts.length > 0 && h('details', {}, h('summary', {}, t.factsTitle), h('dl', { class: 'facts-list' },
        facts.map(([name, each]) => h('div', {}, h('dt', {}, name ? words(name) : ''), h('dd', {}, value(each)))))),
    ].filter(Boolean));
  }

  const form = h('form', { class: 'why-form', onsubmit: act(load) }, field(t.whyAt, time), h('button', { type: 'submit', class: 'quiet' }, t.explain));
  setText(body, '');
  return { node: card(t.why, { class: 'why-card' }, h('p', { class: 'note' }, t.whyWords), body, form), load };
}
