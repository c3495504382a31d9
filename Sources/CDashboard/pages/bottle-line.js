// The bottle's line below the day: battery, drift, last poll, next poll, error, and "Check now".
import { request } from './api.js';
import { moment, offset } from './format.js';
import { h, icon, setText, show } from './dom.js';
import { ask, live, on } from './live.js';
import { said, t } from './texts.js';
import { act } from './ui.js';

/** Whether the drift of the bottle's clock is known. In a demonstration only the service's time is accelerated. */
export const knowsDrift = (state) => Number.isFinite(state.bottle?.clockDriftSeconds) && !(state.service?.speed > 1);

const drift = (seconds) => (seconds === 0 ? t.clockCorrect : t.clockOff(offset(seconds), seconds > 0));

/** The bottle's name; if that is an address, the advertised name if there is one. */
export const bottleName = (bottle) => (/^([0-9A-F]{2}:){5}[0-9A-F]{2}$/i.test(bottle.name) ? bottle.advertisedName ?? bottle.name : bottle.name);

const CHECK_LIMIT = 45_000;

export function bottleLine() {
  const checking = h('p', { class: 'checking', hidden: true }, h('span', { class: 'spinner', 'aria-hidden': 'true' }), h('span', {}, t.checking));
  const error = h('p', { class: 'error-line', hidden: true });
  const hint = h('p', { class: 'error-hint', hidden: true });
  const name = h('strong');
  const facts = h('p', { class: 'facts' });
  const times = h('p', { class: 'facts' });
  let wanted = null;

  const check = h('button', { type: 'button', class: 'quiet', onclick: act(async () => {
    wanted = { since: Date.now(), lastPoll: live.state?.service?.lastPoll ?? null };
    update(live.state);
    try { await request('POST', '/poll'); } catch (problem) {
      wanted = null;
      update(live.state);
      throw problem;
    }
    ask();
  }) }, t.checkNow);

  const node = h('section', { class: 'card bottle-line', 'aria-label': t.bottle },
    h('div', { class: 'bottle-words' }, h('p', { class: 'bottle-name' }, icon('bottle'), name),
      h('div', { role: 'status' }, checking, error, hint), facts, times),
    check);

  function update(state) {
    if (!state) return;
    const service = state.service;
    // The requested poll runs until a poll has ended after the request.
    if (wanted && ((service?.lastPoll ?? null) !== wanted.lastPoll || Date.now() - wanted.since > CHECK_LIMIT)) wanted = null;
    const isPolling = Boolean(wanted) || (service ? service.isPolling : state.connection === 'polling');
    show(checking, isPolling);
    show(error, Boolean(state.connectionError ?? state.hint));
    setText(error, said(state.connectionError ?? state.hint));
    show(hint, Boolean(service?.trying || (state.hint && state.connectionError)));
    setText(hint, said(service?.trying ?? state.hint));
    check.disabled = isPolling;

    const bottle = state.bottle;
    setText(name, bottle ? bottleName(bottle) : t.noBottle);
    setText(facts, bottle
      ? [bottle.batteryPercent === null ? null : t.battery(bottle.batteryPercent), knowsDrift(state) ? drift(bottle.clockDriftSeconds) : null]
        .filter(Boolean).join(' · ')
      : t.noBottleHint);
    const last = service?.lastPoll ?? bottle?.lastPoll;
    setText(times, [last ? t.lastPoll(moment(last)) : null, service?.nextPoll ? t.nextPoll(moment(service.nextPoll)) : null].filter(Boolean).join(' · '));
    node.classList.toggle('has-error', Boolean(state.connectionError ?? state.hint));
  }

  return { node, stop: on('state', update) };
}
