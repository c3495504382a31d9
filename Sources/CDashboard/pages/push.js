// Notifications on this device also while no page is open: by the browser's push service, which sees no words (Web Push).
import { get, request } from './api.js';
import { h, setText, show } from './dom.js';
import { home, mount } from './home.js';
import { remembered } from './memory.js';
import { t } from './texts.js';
import { announce } from './ui.js';

/** Why it cannot be here, as a key of the texts; null where it can. */
function hindrance() {
  if (!globalThis.isSecureContext) return 'insecure';
  return !mount && 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis ? null : 'unknown';
}

const bytesOf = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
const textOf = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
const isSame = (left, right) => left && right && textOf(left) === textOf(right);

/** `Firefox, Linux`: by which its person knows it in a list. */
function label() {
  const agent = navigator.userAgent;
  const name = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']].find(([mark]) => agent.includes(mark))?.[1] ?? 'Browser';
  const system = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS', 'Mac'], ['Linux', 'Linux']].find(([mark]) => agent.includes(mark))?.[1];
  return system ? `${name}, ${system}` : name;
}

/** Whether this browser hears by push: what a page shows of the system's own would be there twice. */
export const isPushed = () => Boolean(remembered.push);

/** As the service names it: so a subscription that the browser changed by itself is known, too. */
async function idOf(endpoint) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(endpoint)));
  return [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function standing() {
  const [told, registration] = await Promise.all([get('/push'), navigator.serviceWorker.ready]);
  const subscription = await registration.pushManager.getSubscription();
  const id = subscription && await idOf(subscription.endpoint);
  const isOn = told.subscriptions.some((each) => each.id === id);
  remembered.push = isOn || null;
  return { told, registration, subscription, id, isOn };
}

async function switchOn() {
  // Asked first: a browser answers only where a person has just touched something.
  if (await Notification.requestPermission() !== 'granted') throw new Error(t.pushDenied);
  const { told, registration, subscription } = await standing();
  if (!told.publicKey) throw new Error(t.pushNoService);
  const key = bytesOf(told.publicKey);
  // One of another key is another person's of this browser, or of a store that is no more: nobody here could send there.
  if (subscription && !isSame(subscription.options.applicationServerKey, key)) await subscription.unsubscribe();
  let mine;
  try {
    mine = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  } catch (error) {
    throw new Error(t.pushUnreachable(error.message));
  }
  await request('POST', '/push/subscriptions', { endpoint: mine.endpoint, p256dh: textOf(mine.getKey('p256dh')), auth: textOf(mine.getKey('auth')), label: label() });
  remembered.push = true;
  // The worker has nobody to ask whose page this is.
  registration.active?.postMessage({ home });
}

async function switchOff() {
  const { subscription, id, isOn } = await standing();
  // The service first: what is sent to a browser that has gone is refused, and told as trouble.
  if (isOn) await request('DELETE', `/push/subscriptions/${id}`).catch((error) => { if (error.status !== 404) throw error; });
  await subscription?.unsubscribe();
  remembered.push = null;
}

/** The switch among what is kept on this device. */
export function pushSwitch() {
  const why = hindrance();
  const input = h('input', { type: 'checkbox', role: 'switch', id: 'push-switch', 'aria-describedby': 'push-hint push-error', disabled: true });
  const hint = h('small', { id: 'push-hint' }, why ? t.pushHindrance[why] : t.pushHint);
  const error = h('p', { class: 'error', id: 'push-error', role: 'alert', hidden: true });
  let isBusy = false;
  const settle = async () => {
    const { told, isOn } = await standing();
    input.checked = isOn;
    input.disabled = !told.publicKey;
    if (!told.publicKey) setText(hint, t.pushNoService);
  };
  input.addEventListener('change', async () => {
    if (isBusy) return;
    isBusy = true;
    const isWanted = input.checked;
    show(error, false);
    try {
      await (isWanted ? switchOn() : switchOff());
      announce(isWanted ? t.pushIsOn : t.pushIsOff);
    } catch (problem) {
      input.checked = !isWanted;
      setText(error, problem.message);
      show(error, true);
    } finally {
      isBusy = false;
    }
  });
  if (!why) settle().catch(() => { /* The service is away: the switch stays as it is. */ });
  return h('div', { class: 'setting flag' },
    h('div', { class: 'setting-words' }, h('label', { for: 'push-switch' }, t.push), hint),
    h('div', { class: 'setting-control' }, input), error);
}
