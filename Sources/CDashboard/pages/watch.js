// The page for a watch: the day, then a few large buttons. Round or square, 320 px and less. Taps while the service is
// unavailable are stored on this device and each sent once.
import { whenAway } from './drinks.js';
import { clock, ml } from './format.js';
import { gauge } from './gauge.js';
import { h, icon, setDrawn, setText, show } from './dom.js';
import { halo } from './halo.js';
import { mount } from './home.js';
import { acceptSession, acceptState, ask, live, on, start } from './live.js';
import { loadEngine, nextDrink } from './next-drink.js';
import { notices } from './notices.js';
import { enqueue, watchQueue } from './queue.js';
import { refusals } from './refused.js';
import { get } from './api.js';
import { language, said, t } from './texts.js';
import { applyTheme } from './theme.js';
import { confirmThen, dialog } from './ui.js';

applyTheme();
document.documentElement.lang = language;
// Browsers do not report a round screen, so the URL does: `/watch?round`.
const isRound = new URLSearchParams(location.search).has('round');
document.documentElement.classList.toggle('round', isRound);

const ring = halo('watch');
const drop = icon('drop', 'watch-drop');
const glasses = h('p', { class: 'watch-glasses' });
const next = h('p', { class: 'watch-next', role: 'timer', 'aria-live': 'off' });
const litres = h('p', { class: 'watch-litres' }, '--');
const status = h('p', { class: 'watch-status' }, '--');
const drunk = h('p', { class: 'watch-age' });
const asOf = h('p', { class: 'watch-as-of', role: 'status' });
const cup = h('button', { type: 'button', class: 'primary', onclick: () => {
  buzz();
  enqueue('POST', '/drinks', { ml: live.state?.cupMl ?? 250, ...whenAway() })
    .then((answer) => acceptState(answer.state)).catch((error) => setText(asOf, said(error.message)));
} }, '+');
const session = h('section', { class: 'watch-session', 'aria-label': t.session });
const meter = gauge();
const counts = h('p', {});
const due = h('p', { class: 'watch-due' });
const sum = h('div', { class: 'watch-sum' }, meter.node, h('div', {}, counts, due));
const begin = h('button', { type: 'button', class: 'quiet', onclick: tap(() => enqueue('POST', '/session'), (answer) => answer.session) }, t.startSession);
const drink = h('button', { type: 'button', class: 'quiet', onclick: chooseDrink }, t.addDrink);
const water = h('button', { type: 'button', class: 'quiet', onclick: tap(() => enqueue('POST', '/session/water', when())) }, t.addWater);
const end = h('button', { type: 'button', class: 'quiet', onclick: () => confirmThen(t.endTitle, '', t.endSession, async () => {
  tap(() => enqueue('POST', '/session/end', { at: 'now' }))();
}, { isDangerous: false }) }, t.endSession);
session.append(sum, begin, drink, water, end);

document.getElementById('main').append(
  h('section', { class: 'watch-face', 'aria-label': t.today }, ring.node, h('div', { class: 'watch-words' }, h('h1', { class: 'unseen' }, t.title), drop, glasses, next, litres, status, drunk)),
  asOf, refusals(), h('div', { class: 'watch-buttons' }, cup), session);

function buzz() { if (navigator.vibrate && navigator.userActivation?.hasBeenActive) navigator.vibrate(15); }

function when() {
  const away = whenAway();
  const started = live.state?.waterline?.startTime;
  return away.at && started && Date.parse(away.at) / 1000 > started ? away : {};
}

/** A tap is one write; the button does not wait for the response. */
function tap(write, sessionOf = (answer) => answer) {
  return () => {
    buzz();
    write().then((answer) => { acceptSession(sessionOf(answer)); ask(); }).catch((error) => setText(asOf, said(error.message)));
  };
}

async function chooseDrink() {
  let presets = [];
  try { ({ presets } = await get('/presets')); } catch { /* Without the list only a plain drink can be logged. */ }
  const choices = [...presets.map((preset) => [preset.name, { preset: preset.name }]), [t.aDrink, {}]];
  const { close } = dialog(t.addDrinkTitle, h('div', { class: 'watch-buttons' }, choices.map(([name, body]) => h('button', {
    type: 'button', class: 'quiet', onclick: () => { close(); tap(() => enqueue('POST', '/session/drink', { ...body, ...when() }))(); },
  }, name))), {});
}

let waiting = 0;
function showAge() {
  const parts = [];
  if (live.isUp === false || live.isFromMemory) parts.push(live.told ? t.asOf(clock(live.told / 1000)) : t.away);
  else if (live.told) parts.push(t.asOfNow);
  if (waiting > 0) parts.push(t.waiting(waiting));
  setText(asOf, parts.join(' · '));
  asOf.classList.toggle('is-old', live.isUp === false);
}

function tick() {
  if (!live.state) return;
  const { text } = nextDrink(live.state);
  setDrawn(next, live.state.isGoalAchieved ? '' : text);
  next.classList.toggle('long', !/^\d/.test(text));
}

on('state', (state) => {
  ring.update(state);
  setText(glasses, state.haloLabel);
  tick();
  drop.dataset.urgency = state.displayUrgency;
  setText(litres, t.litres(state));
  setDrawn(status, said(state.statusText));
  setText(drunk, said(state.lastDrinkAge ?? ''));
  show(drunk, Boolean(state.lastDrinkAge));
  setText(cup, `+${ml(state.cupMl)}`);
  const running = state.waterline;
  show(session, state.service?.waterlineShown !== false);
  show(sum, Boolean(running));
  if (running) {
    meter.update(running);
    setText(counts, `${t.countDrinks(running.drinks)} · ${t.countWaters(running.waters)}`);
    setText(due, said(running.warningText ?? running.waterDueText));
    sum.classList.toggle('is-warning', running.isWarning);
  }
  for (const button of [drink, water, end]) show(button, Boolean(running));
  show(begin, !running);
  showAge();
});
on('link', showAge);
watchQueue((count) => { waiting = count; showAge(); });
addEventListener('waterh-refused', (event) => setText(asOf, said(event.detail)));
addEventListener('waterh-signed-out', () => location.assign(`/sign-in?to=${encodeURIComponent(`${mount}/watch`)}`));
start();
notices();
loadEngine().then(tick);
setInterval(tick, 1000);
if ('serviceWorker' in navigator && !mount) navigator.serviceWorker.register('/sw.js').catch(() => {});
