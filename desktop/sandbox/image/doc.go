// Package image turns what an Environment calls its base (an image of a registry, an archive of one, or a folder) into
// one uncompressed tar of a root filesystem, which every Backend can import.
//
// Promised:
//   - A Rootfs is whole and checked: each layer against the digest that its image names, each path against climbing out,
//     hard links and whiteouts resolved, /bin/sh there, the architecture this machine's. Anything else is an error with
//     its sentence, and nothing is left of it on the disk.
//   - Device nodes and sockets are left out: a Sandbox has a /dev of its own.
//   - The same content makes the same tar, byte for byte.
//   - Nothing is unbounded: the number of files, the bytes, the silence of a registry, the memory for what a stranger sent.
//   - Credentials are those of the machine's docker configuration; they are sent to their registry and nowhere else.
//
// A folder is read and never changed; links are copied, not followed. It is the caller's to keep others from changing it
// meanwhile; when one does, that is seen and told.
package image
