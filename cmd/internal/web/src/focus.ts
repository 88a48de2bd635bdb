// The focus of the keyboard in lists whose entries change their places.

import { useLayoutEffect, useRef } from "preact/hooks";

// useFocusKept returns a reference to an element in which the focus stays where it is, although an element that is moved loses it.
export function useFocusKept<T extends Element>() {
  const box = useRef<T>(null);
  const focused = box.current?.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
  useLayoutEffect(() => {
    if (focused && focused !== document.activeElement && document.activeElement === document.body && focused.isConnected) focused.focus({ preventScroll: true });
  });
  return box;
}
