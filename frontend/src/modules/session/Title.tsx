import { TextInput } from '@mantine/core';
import { useState } from 'react';
import classes from './SessionHeader.module.css';

/** Title is edited where it stands: Enter keeps, Escape leaves it as it was. */
export function Title({ title, save }: { title: string; save: (t: string) => void }) {
  const [text, setText] = useState<string>();
  if (text === undefined) {
    return (
      <h1 className={classes.title}>
        <button type="button" title="Rename" onClick={() => setText(title)}>
          {title}
        </button>
      </h1>
    );
  }
  const done = () => {
    setText(undefined);
    const to = text.trim();
    if (to !== '' && to !== title) save(to);
  };
  return (
    <TextInput
      className={classes.edit}
      aria-label="Title"
      size="sm"
      autoFocus
      maxLength={200}
      value={text}
      onFocus={(e) => e.currentTarget.select()}
      onChange={(e) => setText(e.currentTarget.value)}
      onBlur={done}
      onKeyDown={(e) => {
        if (e.key === 'Enter' && !e.nativeEvent.isComposing) done();
        if (e.key === 'Escape') setText(undefined);
      }}
    />
  );
}
