/** Litres with one decimal, as C writes `%.1f` (tracker law B3): the tenth that lies nearest to the number as a computer holds it, and of two that are as near the even one. */
export const tenthsOfLitre = (ml) => {
  // As `toFixed`, but that takes the larger of two. Only quarters lie in the middle: no other half of a tenth is a binary fraction.
  if (Math.abs(ml) % 500 === 250) return (Math.round(ml / 200) / 5).toFixed(1);
  return (ml / 1000).toFixed(1);
};
