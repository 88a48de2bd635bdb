// Windows over the page.

import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";

// Dialog is a window over the page; Escape and Cancel close it.
export function Dialog(props: { title: string; onClose: () => void; children: any }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    ref.current?.showModal();
  }, []);
  return (
    <dialog ref={ref} aria-label={props.title} onClose={props.onClose} onClick={(e) => e.target === ref.current && ref.current?.close()}>
      <div class="inside">
        <div class="top">
          <h2>{props.title}</h2>
          <button type="button" class="icon" aria-label="Close" onClick={() => ref.current?.close()}>
            ✕
          </button>
        </div>
        {props.children}
      </div>
    </dialog>
  );
}
