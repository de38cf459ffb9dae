/*
 * A link that takes its time, between Unix sockets: what comes in at one end goes out at the other after a delay. Timers of
 * JavaScript are too coarse for a quarter of a millisecond, and tc's netem is not in every kernel.
 *
 *   slow-link LISTEN CONNECT MICROSECONDS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, CHUNK = 65536 };

struct chunk {
  struct chunk *next;
  int64_t due;
  ssize_t length, sent;
  char bytes[];
};

/* One direction of a connection. The other one is beside it. */
struct way {
  int from, to;
  struct chunk *head, *tail;
};

static struct way ways[MOST];
static int count;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

static int open_socket(const char *path, int (*use)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int one = socket(AF_UNIX, SOCK_STREAM, 0);
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (one < 0 || use(one, (struct sockaddr *)&address, sizeof address) < 0) die(path);
  return one;
}

static void add(int from, int to) {
  if (count == MOST) die("too many connections");
  fcntl(from, F_SETFL, O_NONBLOCK);
  ways[count++] = (struct way){.from = from, .to = to};
}

/* Both directions end with either: they stand beside each other. */
static void drop(int at) {
  at &= ~1;
  close(ways[at].from);
  close(ways[at].to);
  for (int nth = at; nth < at + 2; nth++)
    for (struct chunk *one = ways[nth].head, *next; one; one = next) next = one->next, free(one);
  count -= 2;
  ways[at] = ways[count];
  ways[at + 1] = ways[count + 1];
}

static int receive(struct way *way, int64_t delay) {
  struct chunk *one = malloc(sizeof *one + CHUNK);
  if (!one) die("malloc");
  *one = (struct chunk){.due = now() + delay, .length = read(way->from, one->bytes, CHUNK)};
  if (one->length <= 0) {
    int again = one->length < 0 && errno == EAGAIN;
    free(one);
    return again;
  }
  if (way->head) way->tail->next = one;
  else way->head = one;
  way->tail = one;
  return 1;
}

static int forward(struct way *way) {
  for (struct chunk *one; (one = way->head) && one->due <= now();) {
    ssize_t sent = send(way->to, one->bytes + one->sent, one->length - one->sent, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    one->sent += sent;
    if (one->sent < one->length) return 1;
    way->head = one->next;
    free(one);
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int64_t delay = atoll(argv[3]) * 1000;
  int listener = open_socket(argv[1], bind);
  if (listen(listener, MOST) < 0) die("listen");
  prctl(PR_SET_TIMERSLACK, 1);
  puts("ready");
  fflush(stdout);
  for (;;) {
    static struct pollfd polled[MOST + 1];
    int64_t at = now(), next = at + INT64_C(1000000000);
    polled[count] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (int nth = 0; nth < count; nth++) {
      struct chunk *head = ways[nth].head;
      polled[nth].fd = ways[nth].from;
      /* The other direction writes to where this one reads. What is due and still here waits for that. */
      struct chunk *back = ways[nth ^ 1].head;
      polled[nth].events = POLLIN | (back && back->due <= at ? POLLOUT : 0);
      if (head && head->due > at && head->due < next) next = head->due;
    }
    int64_t wait = next > at ? next - at : 0;
    struct timespec most = {wait / 1000000000, wait % 1000000000};
    int before = count;
    if (ppoll(polled, before + 1, &most, NULL) < 0) die("ppoll");
    for (int nth = before - 1; nth >= 0; nth--) {
      if (nth >= count) continue;
      int reads = polled[nth].fd == ways[nth].from && polled[nth].revents & (POLLIN | POLLHUP | POLLERR);
      if ((reads && !receive(&ways[nth], delay)) || !forward(&ways[nth])) drop(nth);
    }
    if (polled[before].revents) {
      int client = accept(listener, NULL, NULL), server = open_socket(argv[2], connect);
      if (client < 0) die("accept");
      add(client, server);
      add(server, client);
    }
  }
}
