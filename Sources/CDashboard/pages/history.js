// History: weeks as bars, the streak, a month in three colours, twelve months, and the drinks of the selected day.
import { get } from './api.js';
import { drinkList } from './drinks.js';
import { dayLong, ml } from './format.js';
import { h, icon, setText, show } from './dom.js';
import { live, on } from './live.js';
import { month } from './month.js';
import { t } from './texts.js';
import { card, complain } from './ui.js';
import { week } from './week.js';
import { year } from './year.js';

export function history(root) {
  const streakWords = h('strong');
  const streak = h('p', { class: 'streak' }, icon('flame'), streakWords);
  const bars = week(choose);
  const calendar = month(choose);
  const months = year();
  const list = drinkList(() => refresh(live.state.dayKey));
  const day = card('', { class: 'day-card', hidden: true }, h('p', { class: 'day-sum' }), list.node);
  const sum = day.querySelector('.day-sum');
  let chosen = null;

  root.append(h('div', { class: 'page-head' }, h('h2', { tabindex: '-1' }, t.pages.history), streak),
    h('div', { class: 'history' }, bars.node, calendar.node, months.node, day));

  async function showDay() {
    if (!chosen) return;
    const answer = await list.load(chosen);
    if (!answer) return;
    setText(day.querySelector('h2'), dayLong(chosen));
    setText(sum, answer.day.goalMl ? t.ofGoal(ml(answer.day.totalMl), ml(answer.day.goalMl)) : '');
    show(day, true);
  }

  function choose(key, { isByHand = false } = {}) {
    chosen = key;
    bars.mark(key);
    calendar.mark(key);
    showDay().then(() => { if (isByHand) day.scrollIntoView({ block: 'nearest' }); }).catch(complain);
  }

  let known = '';
  let lastToday = null;
  const stop = on('state', (state) => {
    const mark = JSON.stringify([state.dayKey, state.dailyTotalMl, state.dailyGoalMl, state.drinkCount, state.state?.history]);
    if (mark === known || live.isFromMemory) return;
    const isFirst = known === '';
    known = mark;
    refresh(state.dayKey, isFirst);
  });

  function refresh(today, isFirst) {
    get('/streak').then((answer) => {
      setText(streakWords, t.streak(answer.streak));
      streak.classList.toggle('cold', answer.streak === 0);
    }).catch(() => {});
    months.load(today).catch(() => {});
    bars.load(today).then((weekStart) => calendar.load(today, weekStart)).catch(complain);
    // If today is selected, the next day is selected when it starts.
    if (isFirst || (chosen === lastToday && today !== lastToday)) choose(today);
    else showDay().catch(() => {});
    lastToday = today;
  }

  return stop;
}
