// The last state of the service, received as server-sent events or, without them, by requests.
import { BASE, get, nextTurn, originOf, Problem, Silence } from './api.js';
import { remembered } from './memory.js';
import { flush } from './queue.js';

/** Silence on the stream, in milliseconds, after which the state is requested: after suspend, a dead connection can
 *  look open for hours. */
const QUIET = 75_000;
const subscribers = { state: new Set(), session: new Set(), notify: new Set(), link: new Set() };

export const live = {
  state: null,
  /** The active or last session; undefined until known. */
  session: undefined,
  /** Whether the service responds; null: unknown. */
  isUp: null,
  /** The time of its last response, by this device's clock. */
  heard: null,
  /** When the state was received, by this device's clock. */
  told: null,
  isFromMemory: false,
  /** The service's clock minus this device's, milliseconds. */
  offset: 0,
};

let source = null;
let retry = null;
let shows = false;
/** Whether the open stream reports a visible page: then the service keeps the bottle's connection. */
let looks = false;
/** The page was left and may be in the browser's back-forward cache. It becomes hidden only afterwards. */
let isLeft = false;
let isWelcoming = false;
let pause = 1000;
/** The ID of the last event; the service resends later ones. */
let lastId = '';
const seenNotices = new Set();

/** `on('state', show)`: called at once if a value is known, and at each change. Returns a function that
 *  unsubscribes. */
export function on(kind, listener) {
  subscribers[kind].add(listener);
  if (kind === 'state' && live.state) listener(live.state);
  if (kind === 'session' && live.session !== undefined) listener(live.session);
  if (kind === 'link') listener(live);
  return () => subscribers[kind].delete(listener);
}

const tell = (kind, value) => { for (const listener of [...subscribers[kind]]) listener(value); };

/** The turn in which the present state was accepted. */
let taken = 0;
let isFromStream = false;

/** Whether a response may be older than the present state: its request came before the present state, or it is a
 *  repeated response to a write. The service's clock cannot decide that, because it can be set. Without a stream,
 *  the state is requested again. */
function isOutdated(origin) {
  if (!origin || live.isFromMemory || (!origin.isRepeated && origin.turn > taken)) return false;
  if (origin.isRepeated || !isFromStream) ask();
  return true;
}

/** Accepts a state from the stream, in its order, or from a response, unless it is outdated. */
export function acceptState(state, { isRemembered = false } = {}) {
  if (!state || typeof state.timestamp !== 'number') return;
  const origin = originOf(state);
  if (isOutdated(origin)) return;
  taken = nextTurn();
  isFromStream = !origin;
  // Some writes respond without the service's part; the last one stays valid.
  if (!state.service && live.state?.service) state = { ...state, service: live.state.service };
  live.isFromMemory = isRemembered;
  live.state = state;
  if (!isRemembered) {
    heardNow();
    live.told = live.heard;
    live.offset = state.timestamp * 1000 - live.told;
    // Waterline is not stored on the device, to which others may have access.
    remembered.state = { heard: live.heard, state: { ...state, waterline: null } };
  }
  tell('state', state);
  listenAnew();
}

export function acceptSession(session) {
  // A repeated response may contain only the state.
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
let unanswered = 0;

export async function ask() {
  const mine = (asked += 1);
  try {
    const state = await get('/state');
    // A later request failed: an older response does not describe the present.
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

/** While the setup asks for a goal, no reminder is shown. */
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
    const id = notice.notificationId ?? notice.id;
    if (seenNotices.has(id)) return;
    seenNotices.add(id);
    tell('notify', notice);
  });
  source.onerror = async () => {
    const isOver = source.readyState === EventSource.CLOSED;
    await ask();
    // The browser reconnects after an interruption, not after an error status.
    if (isOver) {
      retry = setTimeout(listen, pause);
      pause = Math.min(pause * 2, 30_000);
    }
  };
}

/** Marks the notifications as read: reconnecting marks the earlier ones. */
export const openNotices = () => { if (source) listen(); };

export function start() {
  const kept = remembered.state;
  if (kept?.state) {
    live.heard = live.told = kept.heard;
    acceptState(kept.state, { isRemembered: true });
  }
  ask();
  listen();
  setInterval(() => {
    // The browser's offline state can be wrong, because a service on this machine needs no network. So the service is
    // queried.
    if (live.isUp === false || !navigator.onLine || Date.now() - (live.heard ?? 0) > QUIET) ask();
  }, 5000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) ask();
    if (shows !== showsNotices() || looks === document.hidden) listen();
  });
  // Also when the network is lost: the old stream would still report a connected service, and receive nothing more.
  for (const change of ['online', 'offline']) addEventListener(change, () => { ask(); listen(); });
  // A page in the back-forward cache keeps no connection, and a page that was left must not keep the bottle's
  // connection.
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

/** Seconds since the state, in the service's time, which is accelerated in a demonstration. */
export const passed = () => ((Date.now() - live.told) / 1000) * (live.state?.service?.speed ?? 1);

/** The service's clock, as far as known. */
export const serviceNow = () => live.told + live.offset + passed() * 1000;
