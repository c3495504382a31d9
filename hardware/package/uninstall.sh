#!/bin/sh
# Removes the files that install.sh created. The drinks are always kept.
#
# usage: uninstall.sh [--purge]      --purge: also delete the configuration /etc/waterh/waterh.toml
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
[ -f "$list" ] || { printf 'uninstall.sh: the list of installed files is missing (%s). Nothing was removed.\n' "$list" >&2; exit 1; }

service=no
if grep -qx /etc/systemd/system/waterh-gateway.service "$list"; then service=yes; fi
if [ "$service" = yes ] && [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
    printf 'uninstall.sh: the system service requires root: sudo %s\n' "$0" >&2
    exit 1
fi
if [ "$service" = yes ] && [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl disable --now waterh-gateway.service || true
    systemctl stop 'waterh-gateway@*.service' 'waterh-emulator@*.service' || true
fi
while read -r file; do rm -f "$root$file"; done <"$list"
# Remove our folders that are empty now.
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
    printf 'The drinks in /var/lib/waterh are kept. To delete them: rm -r /var/lib/waterh\n'
fi
printf 'Uninstalled.\n'
