// Confetti once a day, when the goal is reached while the page is open; not on a reload, not with reduced motion.
import { h, setVariables } from './dom.js';
import { live } from './live.js';
import { remembered } from './memory.js';

const COLOURS = ['#42A5F5', '#66BB6A', '#FFB300', '#EC407A', '#7E57C2', '#26C6DA'];
let last = null;

/** Called with each state. Whether the goal was reached between the last state and this one. */
export function crossesGoal(state) {
  // A stored state of an earlier visit does not count.
  if (live.isFromMemory) return false;
  const before = last;
  last = { day: state.dayKey, isMet: state.isGoalAchieved };
  const isCrossed = before !== null && before.day === state.dayKey && !before.isMet && state.isGoalAchieved;
  if (!isCrossed || remembered.confettiDay === state.dayKey) return false;
  remembered.confettiDay = state.dayKey;
  return true;
}

export function confetti() {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  const field = h('div', { class: 'confetti', 'aria-hidden': 'true' });
  document.body.append(field);
  const flights = Array.from({ length: 90 }, (_, index) => {
    const piece = h('i');
    setVariables(piece, { '--x': `${Math.random() * 100}vw`, '--colour': COLOURS[index % COLOURS.length] });
    field.append(piece);
    const drift = (Math.random() - 0.5) * 30;
    const turns = 360 + Math.random() * 720;
    return piece.animate([
      { transform: 'translate(0, -5vh) rotate(0)', opacity: 1 },
      { transform: `translate(${drift / 2}vw, 60vh) rotate(${turns / 2}deg)`, opacity: 1, offset: 0.6 },
      { transform: `translate(${drift}vw, 105vh) rotate(${turns}deg)`, opacity: 0 },
    ], { duration: 2200 + Math.random() * 1600, delay: Math.random() * 500, easing: 'cubic-bezier(.3,.2,.6,1)', fill: 'both' }).finished;
  });
  Promise.allSettled(flights).then(() => field.remove());
}
