// Waterline: its numbers are only on this page, not in the window's title and not in discreet notifications.
import { get, query, request } from './api.js';
import { askDrink, logWater, presetChips } from './session-actions.js';
import { gauge } from './gauge.js';
import { clock, countdown, dayShort, duration, number, wallDate } from './format.js';
import { h, icon, setText, show } from './dom.js';
import { acceptSession, live, on, passed } from './live.js';
import { enqueue } from './queue.js';
import { remembered } from './memory.js';
import { said, t } from './texts.js';
import { timeline } from './timeline.js';
import { summary } from './summary.js';
import { act, card, complain, confirmThen, dialog } from './ui.js';
import { why } from './why.js';

export function waterline(root) {
  let units = 'oz';
  let presets = [];
  const discreet = h('button', { type: 'button', class: 'plain', onclick: () => { remembered.veiled = !remembered.veiled; veil(); } });
  const hint = h('p', { class: 'idle-hint', hidden: true }, t.idleHint);
  const idle = h('section', { class: 'card start-card', 'aria-label': t.startSession, hidden: true },
    h('p', {}, t.idleWords), hint, h('button', { type: 'button', class: 'primary big', onclick: act(async () => {
      const answer = await enqueue('POST', '/session');
      acceptSession(answer.session);
    }) }, t.startSession));
  const banner = h('section', { class: 'notice abandoned', role: 'alert', hidden: true });
  const running = h('div', { class: 'running', hidden: true });
  const ended = h('div', { hidden: true });
  const past = card(t.pastSessions, { class: 'past-card' });
  const pastList = h('ul', { class: 'past' });
  const pastEmpty = h('p', { class: 'empty', hidden: true }, t.noSessions);
  past.append(pastList, pastEmpty);

  const meter = gauge();
  const due = h('p', { class: 'due' });
  const reminder = h('p', { class: 'reminder' });
  const warning = h('p', { class: 'warning-text', role: 'status' });
  const drinks = h('dd'); const waters = h('dd'); const elapsed = h('dd'); const standard = h('dd');
  const chips = h('div', { class: 'chips', role: 'group', 'aria-label': t.presets });
  const entries = timeline(() => units);
  const endedSummary = summary(() => units);
  const actions = h('div', { class: 'session-actions' },
    h('button', { type: 'button', class: 'primary big', onclick: () => askDrink(presets, units) }, t.addDrink),
    h('button', { type: 'button', class: 'water big', onclick: () => { logWater().catch(complain); } }, t.addWater));
  const veilNote = h('p', { class: 'veil-note', hidden: true }, t.sessionRunning);
  const counts = h('dl', { class: 'counts' },
    h('div', {}, h('dt', {}, t.drinks), drinks), h('div', {}, h('dt', {}, t.waters), waters),
    h('div', {}, h('dt', {}, t.standardDrinks), standard), h('div', {}, h('dt', {}, t.elapsed), elapsed));
  running.append(
    h('section', { class: 'card session-card', 'aria-label': t.session },
      h('div', { class: 'veiled' }, meter.node, h('div', { class: 'session-words' }, due, reminder, warning, counts)), veilNote, chips, actions, why((kind) => kind.startsWith('waterline')),
      h('button', { type: 'button', class: 'quiet', onclick: () => confirmThen(t.endTitle, t.endWords, t.endSession, async () => { end('now'); }, { isDangerous: false }) }, t.endSession)),
    card(t.timeline, { class: 'veiled' }, entries.node));
  ended.append(card(t.summary, { class: 'summary-card' }, endedSummary.node,
    card(t.timeline, {}, endedSummary.entries),
    h('div', { class: 'actions' }, h('small', {}, t.sealWords), h('button', { type: 'button', class: 'primary', onclick: act(async () => acceptSession(await request('POST', '/session/done'))) }, t.done))));

  root.append(h('div', { class: 'page-head' }, h('h2', { tabindex: '-1' }, t.pages.waterline), discreet), banner, idle, running, ended, past);

  function veil() {
    const isVeiled = Boolean(remembered.veiled);
    root.classList.toggle('is-veiled', isVeiled);
    discreet.replaceChildren(icon('hidden'), isVeiled ? t.showDetails : t.hideDetails);
    discreet.setAttribute('aria-pressed', String(isVeiled));
    show(veilNote, isVeiled);
  }

  // The response is not awaited: while the service is unavailable it can come late.
  const end = (at) => { enqueue('POST', '/session/end', { at }).then(acceptSession).catch(complain); };

  let bannerHours = null;
  function showBanner(hours) {
    if (hours === bannerHours) return;
    bannerHours = hours;
    show(banner, hours !== null && hours !== undefined);
    if (banner.hidden) return;
    banner.replaceChildren(
      h('p', {}, t.abandoned(hours)),
      h('div', { class: 'notice-actions' },
        h('button', { type: 'button', class: 'plain', onclick: () => end('now') }, t.endNow),
        h('button', { type: 'button', class: 'plain', onclick: () => end('last-log') }, t.endAtLast),
        h('button', { type: 'button', class: 'plain', onclick: act(async () => acceptSession(await request('POST', '/session/keep-going'))) }, t.keepGoing)));
  }

  function update(state) {
    const session = state.waterline;
    show(running, Boolean(session));
    show(idle, !session);
    show(ended, !session && Boolean(live.session?.summary) && live.session.sealed === false);
    showBanner(session?.abandonedHours ?? null);
    if (!session) return;
    meter.update(session);
    setText(due, said(session.waterDueText));
    due.classList.toggle('is-due', session.waterDueIn === 0);
    setText(warning, said(session.warningText ?? ''));
    setText(drinks, number(session.drinks));
    setText(waters, number(session.waters));
    setText(standard, number(session.standardDrinks));
    running.classList.toggle('is-warning', session.isWarning);
    tick();
  }

  function tick() {
    const session = live.state?.waterline;
    if (!session) return;
    setText(elapsed, duration(session.elapsedSeconds + passed()));
    const left = session.nextReminderSeconds;
    setText(reminder, left === null ? t.noReminder : t.nextReminder(countdown(left - passed())));
  }

  function showSession(session) {
    if (session?.isActive) entries.update(session);
    if (session && !session.isActive) endedSummary.update(session);
    if (live.state) update(live.state);
    get(`/sessions${query({ limit: 5 })}`).then(showPast).catch(() => {});
  }

  function showPast({ sessions }) {
    pastEmpty.hidden = sessions.length > 0;
    show(hint, sessions.length === 0);
    pastList.replaceChildren(...sessions.slice(0, 5).map((each) => h('li', {}, h('button', {
      type: 'button', class: 'past-row', onclick: act(async () => {
        const whole = await get(`/sessions/${each.id}`);
        const view = summary(() => units, { isReadOnly: true });
        view.update(whole.session ?? whole);
        dialog(t.pastSession(dayShort(wallDate(each.startTime)), clock(each.startTime)), [view.node, view.entries], { cancel: t.close });
      }),
    }, h('strong', {}, `${dayShort(wallDate(each.startTime))}, ${clock(each.startTime)}`),
    h('span', {}, each.summary ? `${duration(each.summary.durationSeconds)} · ${t.countDrinks(each.summary.drinks)} · ${t.countWaters(each.summary.waters)}` : '')))));
  }

  veil();
  get('/settings').then((settings) => { units = settings['waterline.units'] ?? 'oz'; if (live.session !== undefined) showSession(live.session); }).catch(() => {});
  get('/presets').then((answer) => {
    presets = answer.presets;
    chips.replaceChildren(...presetChips(presets));
    show(chips, presets.length > 0);
  }).catch(() => {});
  get('/session').then(acceptSession).catch((error) => { if (error.code === 'noSession' || error.status === 404) acceptSession(null); });

  let counted = '';
  const stops = [
    on('state', (state) => {
      update(state);
      // The stream delivers the session's entries; without it they are requested when the counts change.
      const mark = JSON.stringify([state.waterline?.sessionId, state.waterline?.drinks, state.waterline?.waters]);
      if (mark !== counted && counted !== '') get('/session').then(acceptSession).catch(() => acceptSession(null));
      counted = mark;
    }),
    on('session', showSession),
  ];
  const timer = setInterval(tick, 1000);
  return () => {
    clearInterval(timer);
    for (const stop of stops) stop();
  };
}
