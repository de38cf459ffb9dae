# The config may refer to variables and credentials that only the running daemon has, so the check gets its environment. It also
# runs as the daemon's user: that process chooses what /proc says are its variables, LD_PRELOAD among them. It has no hold of this
# terminal.
check_config() {
  uid=$(status_of "$1" Uid | cut --fields=2)
  gid=$(status_of "$1" Gid | cut --fields=2)
  groups=$(status_of "$1" Groups | tr --squeeze-repeats ' ' ',' | sed 's/,$//')
  if [ -n "$groups" ]; then groups="--groups=$groups"; else groups=--clear-groups; fi
  xargs --null --arg-file="/proc/$1/environ" \
    setpriv --reuid="$uid" --regid="$gid" "$groups" --no-new-privs setsid --wait \
    sh -c 'exec env --ignore-environment "$@" /usr/bin/fairlead check --config "$0"' "$config" </dev/null
}

status_of() {
  sed --quiet "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}

# If the new version could not start with this config, the old one keeps running. $1: its process.
restart() {
  if check_config "$1"; then
    @RESTART@ || true
    return 0
  fi
  echo "fairlead: the new version cannot use $config, see above: the daemon was NOT restarted, and the old version keeps running." >&2
  echo "fairlead: fix the config, then: systemctl restart fairlead" >&2
}
