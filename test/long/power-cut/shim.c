/*
 * A disk that loses power. Preloaded into a program (LD_PRELOAD), it keeps notes of what the program writes to the files of one folder,
 * so that `disk.ts` can make that folder look as a disk would after a power cut, and ends the program at the moment of the cut.
 *
 * The disk is strict, and fair:
 *  - What was written to a file is durable once an fsync or fdatasync of that file has returned. Before that, each sector of 512
 *    bytes may be as it was at the last sync, or as any write since has left it, independent of all other sectors: so writes are lost,
 *    torn, and reordered. A sector itself is never torn, and holds nothing that was not written to it.
 *  - The length of a file is durable with it. Before that, it may be any that the file has had since.
 *  - Names (creating, removing and renaming files) are durable once an fsync of the folder has returned; an fsync of the
 *    file itself does not do it. Before that, the last of them may be undone, any number, in the order of a file system's journal.
 *  - What is mapped into memory is never durable: that is SQLite's index of its write-ahead log (-shm), and nothing else may be.
 *
 * Nothing is really synced, as the machine goes on: a SIGKILL loses nothing that the system has taken. So the notes are the whole
 * disk: of each write, what was there before. They go when a sync makes the write durable.
 *
 * POWER_CUT_FOLDER  the folder; what is in folders below it is not looked at
 * POWER_CUT_STATE   where the notes are, on the same file system: `power` (struct power), for each file `writes-INODE`,
 *                   `names`, removed files as `removed-N`, and after the cut `moment`, which says in what it fell
 * POWER_CUT_LIES    a sync of files whose names end so (`*` for all, `/` for the folder) does nothing, and says that it was done
 *
 * Several programs may share one disk: they go down together, each with its next write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SECTOR 512
#define MOST_FILES 4096
/* The function of that name that this one stands in front of. */
#define NEXT(name)                                         \
  ({                                                       \
    static __typeof__(name) *found;                        \
    if (found == NULL) found = (__typeof__(name) *)next(#name); \
    found;                                                 \
  })

/* In a file that all programs on this disk map, and that the tests read and write. */
struct power {
  uint64_t done;    /* writes, truncations, syncs and changes of names so far */
  uint64_t fuse;    /* how many more of these until the power goes; 0: it does not */
  uint64_t spares;  /* 1: what is done to a write-ahead log (-wal) does not count for that */
  uint64_t is_off;  /* the power is gone */
  uint64_t removed; /* numbers the files that were removed */
};

/* Before each write, and followed by what was in its sectors. */
struct note {
  uint64_t begins; /* in whole sectors, as is its end */
  uint64_t ends;
  uint64_t size;   /* of the file, before */
  uint64_t length; /* of what was there: less, where the file was not as long */
};

enum kind { NONE, FILE_OF_DISK, MAPPED, FOLDER };

struct known {
  enum kind kind;
  ino_t inode;
  char name[NAME_MAX + 1];
};

static struct known known[MOST_FILES];
static struct power *power;
static char folder[PATH_MAX], state[PATH_MAX];
static const char *lies;
static dev_t device;
static int power_file = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) abort();
  return found;
}

/* What this disk cannot do would be a hole in the test: it ends the program. */
static void give_up(const char *what, const char *name) {
  dprintf(2, "power-cut: %s of %s: %s\n", what, name, strerror(errno));
  _exit(70);
}

/* In the state's folder. */
static int open_note(const char *name, int flags) {
  char path[PATH_MAX * 2];
  snprintf(path, sizeof path, "%s/%s", state, name);
  return NEXT(open)(path, flags | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void begin(void) {
  const char *where = getenv("POWER_CUT_FOLDER"), *notes = getenv("POWER_CUT_STATE");
  struct stat found;
  if (where == NULL || notes == NULL) return;
  lies = getenv("POWER_CUT_LIES");
  if (realpath(where, folder) == NULL || stat(folder, &found) != 0) give_up("finding", where);
  if (realpath(notes, state) == NULL) give_up("finding", notes);
  device = found.st_dev;
  power_file = open_note("power", O_RDWR);
  void *mapped = mmap(NULL, sizeof *power, PROT_READ | PROT_WRITE, MAP_SHARED, power_file, 0);
  if (power_file < 0 || mapped == MAP_FAILED) give_up("mapping", "power");
  power = mapped;
}

/* One at a time, in this program and in all others. */
static void enter(void) {
  pthread_mutex_lock(&mutex);
  while (flock(power_file, LOCK_EX) != 0)
    if (errno != EINTR) give_up("locking", "power");
  if (power->is_off) kill(getpid(), SIGKILL);
  power->done += 1;
}

static void leave(void) {
  int before = errno;
  flock(power_file, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = before;
}

static int ends_with(const char *name, const char *end) {
  size_t length = strlen(name), tail = strlen(end);
  return length >= tail && strcmp(name + length - tail, end) == 0;
}

/* The cut, if it is time: what was just done is not durable yet. */
static void burn(const char *what, const char *name) {
  if (power->fuse == 0 || (power->spares && ends_with(name, "-wal")) || --power->fuse > 0) return;
  power->is_off = 1;
  int moment = open_note("moment", O_WRONLY | O_CREAT);
  dprintf(moment, "%s %s", what, name);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int is_lie(const char *name) {
  return lies != NULL && (strcmp(lies, "*") == 0 || ends_with(name, lies));
}

/* Where a path leads: whether right into the folder, and to which name there. "/" stands for the folder itself. */
static int is_ours(int at, const char *path, char *name) {
  char full[PATH_MAX * 2], real[PATH_MAX];
  if (power == NULL || path == NULL) return 0;
  if (path[0] == '/' || at == AT_FDCWD) snprintf(full, sizeof full, "%s", path);
  else snprintf(full, sizeof full, "/proc/self/fd/%d/%s", at, path);
  if (realpath(full, real) != NULL && strcmp(real, folder) == 0) return strcpy(name, "/") != NULL;
  char *slash = strrchr(full, '/');
  const char *last = slash ? slash + 1 : full;
  if (strlen(last) > NAME_MAX) return 0;
  strcpy(name, last);
  if (slash == NULL) strcpy(full, ".");
  else if (slash == full) full[1] = 0;
  else *slash = 0;
  return realpath(full, real) != NULL && strcmp(real, folder) == 0;
}

static struct known *find(int fd) {
  struct stat found;
  if (power == NULL || fd < 0 || fd >= MOST_FILES || known[fd].kind == NONE) return NULL;
  /* The number may have been closed by a bare system call, and be something else by now. */
  if (fstat(fd, &found) != 0 || found.st_dev != device || found.st_ino != known[fd].inode) return NULL;
  return &known[fd];
}

static void note_name(const char *format, ...) {
  va_list values;
  va_start(values, format);
  int names = open_note("names", O_WRONLY | O_CREAT | O_APPEND);
  if (names < 0 || vdprintf(names, format, values) < 0) give_up("noting", "names");
  close(names);
  va_end(values);
}

static void forget_writes(ino_t inode) {
  char path[PATH_MAX * 2];
  snprintf(path, sizeof path, "%s/writes-%ju", state, (uintmax_t)inode);
  NEXT(unlink)(path);
}

/* Keeps what is in these places of the file, in whole sectors, before they are written. */
static void note_write(int fd, const struct known *file, off_t from, off_t to) {
  struct stat found;
  char name[64];
  if (fstat(fd, &found) != 0) give_up("looking at", file->name);
  from -= from % SECTOR;
  to += (SECTOR - to % SECTOR) % SECTOR;
  off_t end = to < found.st_size ? to : found.st_size;
  size_t length = end > from ? end - from : 0;
  struct note note = {.begins = from, .ends = to, .size = found.st_size, .length = length};
  char *before = malloc(length + 1);
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  /* SQLite's files are open for reading too; others may not be. */
  if (length > 0 && pread(fd, before, length, from) != (ssize_t)length) {
    int again = NEXT(open)(name, O_RDONLY | O_CLOEXEC);
    if (again < 0 || pread(again, before, length, from) != (ssize_t)length) give_up("reading", file->name);
    close(again);
  }
  snprintf(name, sizeof name, "writes-%ju", (uintmax_t)file->inode);
  int notes = open_note(name, O_WRONLY | O_CREAT | O_APPEND);
  struct iovec parts[] = {{&note, sizeof note}, {before, length}};
  if (notes < 0 || NEXT(writev)(notes, parts, 2) != (ssize_t)(sizeof note + length)) give_up("noting", file->name);
  close(notes);
  free(before);
}

/* Before a name is taken from a file: its content may have to come back. Answers the number it is kept under, 0 if it is not there. */
static uint64_t keep(const char *name) {
  char from[PATH_MAX * 2], to[PATH_MAX * 2];
  snprintf(from, sizeof from, "%s/%s", folder, name);
  snprintf(to, sizeof to, "%s/removed-%ju", state, (uintmax_t)(power->removed + 1));
  if (NEXT(link)(from, to) == 0) return ++power->removed;
  if (errno != ENOENT) give_up("keeping", name);
  return 0;
}

static int truncate_noted(int fd, struct known *file, off_t length) {
  struct stat found;
  enter();
  if (fstat(fd, &found) != 0) give_up("looking at", file->name);
  note_write(fd, file, length < found.st_size ? length : found.st_size, found.st_size);
  int result = NEXT(ftruncate64)(fd, length);
  burn("truncating", file->name);
  leave();
  return result;
}

static void remember(int fd, const char *name) {
  struct stat found;
  if (fd >= MOST_FILES || fstat(fd, &found) != 0) give_up("opening", name);
  known[fd].kind = strcmp(name, "/") == 0 ? FOLDER : ends_with(name, "-shm") ? MAPPED : FILE_OF_DISK;
  if (known[fd].kind == FILE_OF_DISK && !S_ISREG(found.st_mode)) known[fd].kind = NONE;
  known[fd].inode = found.st_ino;
  strcpy(known[fd].name, name);
}

static int open_noted(int at, const char *path, int flags, mode_t mode) {
  char name[NAME_MAX + 1];
  if (!is_ours(at, path, name)) return NEXT(openat)(at, path, flags, mode);
  int is_mapped = ends_with(name, "-shm");
  int is_new = (flags & O_CREAT) && faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  if (is_new && !is_mapped) enter();
  int fd = NEXT(openat)(at, path, flags & ~(is_new ? 0 : O_TRUNC), mode);
  if (fd >= 0) remember(fd, name);
  if (is_new && !is_mapped) {
    if (fd >= 0) {
      /* A removed file had that number perhaps. */
      forget_writes(known[fd].inode);
      note_name("created %s\n", name);
      burn("creating", name);
    }
    leave();
  }
  if (fd >= 0 && !is_new && (flags & O_TRUNC)) {
    if (known[fd].kind == FILE_OF_DISK) truncate_noted(fd, &known[fd], 0);
    else if (NEXT(ftruncate64)(fd, 0) != 0) give_up("truncating", name);
  }
  return fd;
}

static mode_t mode_in(int flags, va_list values) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(values, mode_t) : 0;
}

#define OPEN(open, at, path, before)        \
  int open before {                         \
    va_list values;                         \
    va_start(values, flags);                \
    mode_t mode = mode_in(flags, values);   \
    va_end(values);                         \
    return open_noted(at, path, flags, mode); \
  }
OPEN(open, AT_FDCWD, path, (const char *path, int flags, ...))
OPEN(open64, AT_FDCWD, path, (const char *path, int flags, ...))
OPEN(openat, at, path, (int at, const char *path, int flags, ...))
OPEN(openat64, at, path, (int at, const char *path, int flags, ...))

int creat(const char *path, mode_t mode) { return open_noted(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
  if (fd >= 0 && fd < MOST_FILES) known[fd].kind = NONE;
  return NEXT(close)(fd);
}

#define WRITE(fd, from, length, call)                        \
  struct known *file = find(fd);                             \
  if (file == NULL || file->kind != FILE_OF_DISK) return call; \
  enter();                                                   \
  off_t begins = from;                                       \
  note_write(fd, file, begins, begins + (length));           \
  ssize_t result = call;                                     \
  burn("writing", file->name);                               \
  leave();                                                   \
  return result;

/* Where the next write of this file goes. */
static off_t place(int fd) {
  struct stat found;
  if ((fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &found) == 0) return found.st_size;
  return lseek(fd, 0, SEEK_CUR);
}

static size_t total(const struct iovec *parts, int count) {
  size_t sum = 0;
  for (int n = 0; n < count; n += 1) sum += parts[n].iov_len;
  return sum;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { WRITE(fd, at, length, NEXT(pwrite)(fd, bytes, length, at)) }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t at) { WRITE(fd, at, length, NEXT(pwrite)(fd, bytes, length, at)) }
ssize_t write(int fd, const void *bytes, size_t length) { WRITE(fd, place(fd), length, NEXT(write)(fd, bytes, length)) }
ssize_t writev(int fd, const struct iovec *parts, int count) { WRITE(fd, place(fd), total(parts, count), NEXT(writev)(fd, parts, count)) }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { WRITE(fd, at, total(parts, count), NEXT(pwritev)(fd, parts, count, at)) }

int ftruncate(int fd, off_t length) {
  struct known *file = find(fd);
  return file != NULL && file->kind == FILE_OF_DISK ? truncate_noted(fd, file, length) : NEXT(ftruncate64)(fd, length);
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

/* Names that are durable need no way back. */
static void forget_names(void) {
  char path[PATH_MAX * 2];
  for (uint64_t n = power->removed; n > 0; n -= 1) {
    struct stat found;
    snprintf(path, sizeof path, "%s/removed-%ju", state, (uintmax_t)n);
    if (stat(path, &found) != 0) break;
    if (found.st_nlink == 1) forget_writes(found.st_ino);
    NEXT(unlink)(path);
  }
  snprintf(path, sizeof path, "%s/names", state);
  NEXT(unlink)(path);
}

/* Bun opens files by bare system calls, which nobody can stand in front of. It syncs them as all do. */
static struct known *find_opened(int fd) {
  char link[64], path[PATH_MAX], name[NAME_MAX + 1];
  if (power == NULL || fd < 0) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  if (path[0] != '/' || !is_ours(AT_FDCWD, path, name)) return NULL;
  remember(fd, name);
  return find(fd);
}

int fsync(int fd) {
  struct known *file = find(fd);
  if (file == NULL) file = find_opened(fd);
  if (file == NULL || file->kind == MAPPED) return NEXT(fsync)(fd);
  enter();
  burn("syncing", file->name);
  if (is_lie(file->name)) {
    /* Nothing is durable. */
  } else if (file->kind == FOLDER) forget_names();
  else forget_writes(file->inode);
  leave();
  return 0;
}
int fdatasync(int fd) { return fsync(fd); }

static int remove_noted(int at, const char *path, int flags) {
  char name[NAME_MAX + 1];
  if (!is_ours(at, path, name) || ends_with(name, "-shm")) return NEXT(unlinkat)(at, path, flags);
  enter();
  uint64_t kept = keep(name);
  if (kept > 0) note_name("removed %s %ju\n", name, (uintmax_t)kept);
  int result = NEXT(unlinkat)(at, path, flags);
  burn("removing", name);
  leave();
  return result;
}
int unlink(const char *path) { return remove_noted(AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) { return remove_noted(at, path, flags); }

int renameat(int from_at, const char *from, int to_at, const char *to) {
  char old[NAME_MAX + 1], new[NAME_MAX + 1];
  int comes_from = is_ours(from_at, from, old), goes_to = is_ours(to_at, to, new);
  if (!comes_from && !goes_to) return NEXT(renameat)(from_at, from, to_at, to);
  if (!comes_from || !goes_to) give_up("renaming across folders", to);
  enter();
  note_name("renamed %s %s %ju\n", old, new, (uintmax_t)keep(new));
  int result = NEXT(renameat)(from_at, from, to_at, to);
  if (result != 0) give_up("renaming", old);
  burn("renaming", old);
  leave();
  return result;
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  char name[NAME_MAX + 1];
  if (!is_ours(to_at, to, name)) return NEXT(linkat)(from_at, from, to_at, to, flags);
  enter();
  int result = NEXT(linkat)(from_at, from, to_at, to, flags);
  if (result == 0) note_name("created %s\n", name);
  burn("linking", name);
  leave();
  return result;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

/* What this disk cannot do. */
int fallocate(int fd, int mode, off_t offset, off_t length) {
  struct known *file = find(fd);
  if (file != NULL && file->kind == FILE_OF_DISK) give_up("allocating", file->name);
  return NEXT(fallocate)(fd, mode, offset, length);
}

void *mmap(void *where, size_t length, int protection, int flags, int fd, off_t offset) {
  struct known *file = flags & MAP_ANONYMOUS ? NULL : find(fd);
  if (file != NULL && file->kind == FILE_OF_DISK && (protection & PROT_WRITE) && (flags & MAP_SHARED)) give_up("mapping", file->name);
  return NEXT(mmap)(where, length, protection, flags, fd, offset);
}
void *mmap64(void *where, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap(where, length, protection, flags, fd, offset);
}
