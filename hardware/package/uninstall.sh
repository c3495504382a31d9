#!/bin/sh
# Takes away what install.sh put here, and nothing else. Drinks stay, always; the configuration stays, too.
#
# usage: uninstall.sh [--purge]      --purge: the configuration /etc/waterh/waterh.toml goes, too
set -eu

purge=no
case ${1:-} in
    '') ;;
    --purge) purge=yes ;;
    *) sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
root=${DESTDIR:-}
here=$(cd "$(dirname "$0")" && pwd)
list=$here/installed
[ -f "$list" ] || { printf 'uninstall.sh: %s is not there, so nothing is known to be installed.\n' "$list" >&2; exit 1; }

service=no
if grep -qx /etc/systemd/system/waterh-gateway.service "$list"; then service=yes; fi
if [ "$service" = yes ] && [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
    printf 'uninstall.sh: there is a system service: run this as root.\n' >&2
    exit 1
fi
if [ "$service" = yes ] && [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now waterh-gateway.service || true
    systemctl stop 'waterh-gateway@*.service' 'waterh-emulator@*.service' || true
fi
while read -r file; do rm -f "$root$file"; done <"$list"
# Folders that were ours, and are empty now.
sed 's|/[^/]*$||' "$list" | sort -ru | while read -r folder; do
    case $folder in */waterh | */waterh/*) rmdir "$root$folder" 2>/dev/null || true ;; esac
done
rm -f "$list"
rmdir "$here" 2>/dev/null || true
if [ "$service" = yes ] && [ "$purge" = yes ]; then
    rm -f "$root/etc/waterh/waterh.toml"
    rmdir "$root/etc/waterh" 2>/dev/null || true
fi
if [ "$service" = yes ] && [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ -d "$root/var/lib/waterh" ] && [ "$service" = yes ]; then
    printf 'The drinks in /var/lib/waterh stay. To throw them away: rm -r /var/lib/waterh\n'
fi
printf 'Uninstalled.\n'
