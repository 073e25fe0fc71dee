interface Place {
  clientX: number;
  clientY: number;
}

/** onSwipe tells by how many pixels one finger moved up over an element, and where. Returns the way to stop that. */
export function onSwipe(host: HTMLElement, swiped: (up: number, at: Place) => void): () => void {
  let y: number | undefined;
  const start = (e: TouchEvent) => {
    y = e.touches.length === 1 ? e.touches[0]?.clientY : undefined;
  };
  const move = (e: TouchEvent) => {
    const touch = e.touches[0];
    if (y === undefined || !touch || e.touches.length !== 1) return;
    swiped(y - touch.clientY, touch);
    y = touch.clientY;
    if (e.cancelable) e.preventDefault();
  };
  host.addEventListener('touchstart', start, { passive: true });
  host.addEventListener('touchmove', move, { passive: false });
  return () => {
    host.removeEventListener('touchstart', start);
    host.removeEventListener('touchmove', move);
  };
}
