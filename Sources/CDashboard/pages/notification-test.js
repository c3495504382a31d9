// Whether this browser can show notifications, and a test that reports whether one was shown.
import { h, icon, show } from './dom.js';
import { live } from './live.js';
import { t } from './texts.js';
import { toast } from './ui.js';

/** The browser's time limit to show a notification, milliseconds. */
const LIMIT = 5000;
const canAsk = () => 'Notification' in globalThis && isSecureContext;
const isAllowed = () => canAsk() && Notification.permission === 'granted';

/** This browser blocks notifications, and there is no desktop with a notification server. */
export const areDisabled = () => canAsk() && Notification.permission === 'denied' && live.state?.notifications === 'disabled';

/** "Notifications disabled" with the way to allow them; empty if this browser shows them. */
export function notificationsHint() {
  const hint = h('p', { class: 'note', hidden: isAllowed() }, icon('bell'), h('strong', {}, ` ${t.notificationsDisabled} `),
    canAsk() && Notification.permission === 'denied' ? t.notificationsBlocked : canAsk() ? '' : t.notificationsInsecure,
    canAsk() && Notification.permission === 'default' && h('button', { type: 'button', class: 'plain', onclick: async () => { await testNotification(); show(hint, !isAllowed()); } }, t.allow));
  return hint;
}

/** Shows a notification and reports whether the browser showed it. Call it in a tap handler, as browsers require for
 *  the permission. */
export async function testNotification() {
  if (canAsk() && Notification.permission === 'default') await Notification.requestPermission();
  if (!isAllowed()) return toast(`${t.notificationsDisabled}. ${canAsk() ? t.notificationsBlocked : t.notificationsInsecure}`, { isProblem: true, seconds: 12 });
  const isShown = await new Promise((resolve) => {
    try {
      const test = new Notification(t.testTitle, { body: t.testBody, tag: 'test' });
      test.onshow = () => resolve(true);
      test.onerror = () => resolve(false);
      setTimeout(() => resolve(false), LIMIT);
    } catch { resolve(false); } // Chromium on Android allows it in a service worker only.
  });
  return toast(isShown ? t.testShown : t.testNotShown, { isProblem: !isShown, seconds: 12 });
}
