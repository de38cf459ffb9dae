/*
 * Does to files what its arguments say, for the tests of shim.c:
 *   put NAME OFFSET BYTE COUNT | shorten NAME LENGTH | sync NAME | remove NAME | rename NAME NAME
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **words;

static const char *word(void) {
  if (*words == NULL) exit(64);
  return *words++;
}

static long number(void) { return atol(word()); }

static void check(int is_well, const char *what) {
  if (is_well) return;
  perror(what);
  exit(1);
}

static int open_file(const char *name, int flags) {
  int file = open(name, flags, 0600);
  check(file >= 0, name);
  return file;
}

static void put(const char *name) {
  char bytes[65536];
  long offset = number();
  memset(bytes, *word(), sizeof bytes);
  long count = number();
  int file = open_file(name, O_RDWR | O_CREAT);
  check(pwrite(file, bytes, count, offset) == count, name);
  close(file);
}

static void shorten(const char *name) {
  int file = open_file(name, O_RDWR);
  check(ftruncate(file, number()) == 0, name);
  close(file);
}

static void sync_file(const char *name) {
  int file = open_file(name, O_RDONLY);
  check(fsync(file) == 0, name);
  close(file);
}

int main(int count, char **arguments) {
  (void)count;
  words = arguments + 1;
  while (*words != NULL) {
    const char *what = word(), *name = word();
    if (strcmp(what, "put") == 0) put(name);
    else if (strcmp(what, "shorten") == 0) shorten(name);
    else if (strcmp(what, "sync") == 0) sync_file(name);
    else if (strcmp(what, "remove") == 0) check(unlink(name) == 0, name);
    else if (strcmp(what, "rename") == 0) check(rename(name, word()) == 0, name);
    else return 64;
  }
  return 0;
}
