// The last state of the service. It comes as server-sent events; without them it is requested.
import { BASE, get, nextTurn, originOf, Problem, Silence } from './api.js';
import { remembered } from './memory.js';
import { flush } from './queue.js';

/** Silence on the stream that makes us ask: a sleeping computer's connection can look open for hours. */
const QUIET = 75_000;
const subscribers = { state: new Set(), session: new Set(), notify: new Set(), link: new Set() };

export const live = {
  /** The last state, or null. */
  state: null,
  /** The running or last session; undefined until it is known. */
  session: undefined,
  /** Whether the service answers. null: not known yet. */
  isUp: null,
  /** When it last did, by this device's clock. */
  heard: null,
  /** When the state came, by this device's clock. */
  told: null,
  /** Whether the state is only what this device remembers from an earlier visit. */
  isFromMemory: false,
  /** Service's clock minus this device's, milliseconds. */
  offset: 0,
};

let source = null;
let retry = null;
let shows = false;
/** Whether the open stream reports a visible page: then the service keeps the bottle's connection. */
let looks = false;
/** The page was left: it may lie in the browser's back-forward cache, and becomes hidden only now. */
let isLeft = false;
let isWelcoming = false;
let pause = 1000;
/** The last thing that came over the stream: what came after it comes again. */
let lastId = '';
const seenNotices = new Set();

/** `on('state', show)`: called at once where something is known, and at each change. Returns how to stop. */
export function on(kind, listener) {
  subscribers[kind].add(listener);
  if (kind === 'state' && live.state) listener(live.state);
  if (kind === 'session' && live.session !== undefined) listener(live.session);
  if (kind === 'link') listener(live);
  return () => subscribers[kind].delete(listener);
}

const tell = (kind, value) => { for (const listener of [...subscribers[kind]]) listener(value); };

/** When the state that stands was taken, as turns count. */
let taken = 0;
let isFromStream = false;

/**
 * Whether an answer may say less than what stands already. The service's clock says nothing of it: it may have been put back. What was asked for before the
 * standing state came may be older than that; and a write that is answered again brings the state of then. Where no stream brings what comes next it is asked for.
 */
function isOutdated(origin) {
  if (!origin || live.isFromMemory || (!origin.isRepeated && origin.turn > taken)) return false;
  if (origin.isRepeated || !isFromStream) ask();
  return true;
}

/** Takes a state from wherever it came, if it is news: from the stream, in whose order it comes, or from an answer. */
export function acceptState(state, { isRemembered = false } = {}) {
  if (!state || typeof state.timestamp !== 'number') return;
  const origin = originOf(state);
  if (isOutdated(origin)) return;
  taken = nextTurn();
  isFromStream = !origin;
  // The answers of some writes come without the service's own part; what it said last still holds.
  if (!state.service && live.state?.service) state = { ...state, service: live.state.service };
  live.isFromMemory = isRemembered;
  live.state = state;
  if (!isRemembered) {
    heardNow();
    live.told = live.heard;
    live.offset = state.timestamp * 1000 - live.told;
    // Waterline stays out of what lies on the device: others may open it.
    remembered.state = { heard: live.heard, state: { ...state, waterline: null } };
  }
  tell('state', state);
  listenAnew();
}

export function acceptSession(session) {
  // An answer that was lost and asked for again may hold only the state.
  if (session && !session.logs) return acceptState(session.state);
  live.session = session ?? null;
  tell('session', live.session);
}

function heardNow() {
  live.heard = Date.now();
  setUp(true);
}

function setUp(isUp) {
  if (live.isUp === isUp) return;
  live.isUp = isUp;
  tell('link', live);
  if (isUp) flush();
}

let asked = 0;
/** The last request without an answer. */
let unanswered = 0;

/** Asks once. */
export async function ask() {
  const mine = (asked += 1);
  try {
    const state = await get('/state');
    // A later request got no answer: an older answer says nothing about now.
    if (mine > unanswered) acceptState(state);
    return state;
  } catch (error) {
    if (error instanceof Silence) unanswered = Math.max(unanswered, mine);
    failed(error);
    return null;
  }
}

function failed(error) {
  if (error instanceof Problem && error.status === 401) dispatchEvent(new CustomEvent('waterh-signed-out'));
  else if (error instanceof Silence || error.status >= 500) setUp(false);
}

/** Whether a notification would be visible here: only visible ones count as delivered. */
const showsNotices = () => Boolean(live.state) && !isWelcoming && (!document.hidden || globalThis.Notification?.permission === 'granted');

const listenAnew = () => { if (source && shows !== showsNotices()) listen(); };

/** While the welcome page asks for a goal, no reminder is shown. */
export function welcoming(isSo) {
  isWelcoming = isSo;
  listenAnew();
}

function listen() {
  clearTimeout(retry);
  source?.close();
  if (isLeft) return;
  shows = showsNotices();
  looks = !document.hidden;
  // Missed events come first.
  const words = [shows && 'shows=notifications', !looks && 'looks=no', lastId && `after=${lastId}`].filter(Boolean).join('&');
  source = new EventSource(`${BASE}/events${words && `?${words}`}`);
  const take = (kind, use) => source.addEventListener(kind, (event) => {
    pause = 1000;
    if (event.lastEventId) lastId = event.lastEventId;
    heardNow();
    try { use(JSON.parse(event.data)); } catch (error) { console.error(kind, error); }
  });
  take('state', acceptState);
  take('session', acceptSession);
  take('notify', (notice) => {
    // A notification that comes twice is shown once.
    const id = notice.notificationId ?? notice.id;
    if (seenNotices.has(id)) return;
    seenNotices.add(id);
    tell('notify', notice);
  });
  source.onerror = async () => {
    const isOver = source.readyState === EventSource.CLOSED;
    await ask();
    // The browser reconnects after a cut, not after a refusal.
    if (isOver) {
      retry = setTimeout(listen, pause);
      pause = Math.min(pause * 2, 30_000);
    }
  };
}

/** Marks the notifications as read: a page that shows them and listens again has read the earlier ones. */
export const openNotices = () => { if (source) listen(); };

/** Begins, once per page. */
export function start() {
  const kept = remembered.state;
  if (kept?.state) {
    live.heard = live.told = kept.heard;
    acceptState(kept.state, { isRemembered: true });
  }
  ask();
  listen();
  setInterval(() => {
    // A browser that says that there is no network may be wrong: a service on this machine needs none. So it is asked, and not believed.
    if (live.isUp === false || !navigator.onLine || Date.now() - (live.heard ?? 0) > QUIET) ask();
  }, 5000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) ask();
    if (shows !== showsNotices() || looks === document.hidden) listen();
  });
  // Also when the network went: what still comes over the old stream would say that the service answers, and nothing would come after it.
  for (const change of ['online', 'offline']) addEventListener(change, () => { ask(); listen(); });
  // A page in the back-forward cache keeps no connection, and one that is left must not hold the bottle.
  addEventListener('pagehide', () => {
    isLeft = true;
    source?.close();
  });
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    isLeft = false;
    ask();
    listen();
  });
}

/** Seconds since the state, by the service's time, which runs faster in a demonstration. */
export const passed = () => ((Date.now() - live.told) / 1000) * (live.state?.service?.speed ?? 1);

/** The service's clock, as far as it is known here. */
export const serviceNow = () => live.told + live.offset + passed() * 1000;
