#!/bin/bash
# In the test VM, under a real systemd: install, upgrade and remove the package. systemd_tests.py starts it. Prints one line per check.
# usage: systemd_guest.sh FOLDER      with waterh.deb, older.deb, later.deb (a step that waterh.deb does not know), tomorrow.sqlite, and readme.sh: the
#                                     commands of the README for owners. Their output is written to FOLDER/transcript.txt
set -u
folder=$1
unit=waterh-gateway.service
store=/var/lib/waterh/waterh.sqlite
. "$folder/guest.sh"
now() { cut -d' ' -f1 /proc/uptime; }
took() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f s", b - a }'; }
answers() { curl -fsS -m 5 http://127.0.0.1:8077/healthz; }
shows() { systemctl show -P "$1" "$unit"; }
journal() { journalctl -b --no-pager -o cat -u "$unit" "$@"; }
drinks() { setpriv --reuid=waterh --regid=waterh --clear-groups waterh-tracker export --format csv --store "$store"; }

cd "$folder" || exit 1
# --- an installation by the commands of the README
mkdir /root/owner && cp waterh.deb /root/owner/waterh_1.deb
begun=$(now)
while read -r line; do
    owner() { (cd /root/owner && sh -c "$line" </dev/null) >>transcript.txt 2>errors.txt || { cat errors.txt; return 1; }; }
    check "README: $line" owner
    [[ $line != apt-get* ]] || { check "the page answers" within 60 answers; echo "        from apt-get to the page's first answer: $(took "$begun" "$(now)")"; }
done <readme.sh
check "systemd knows that it is ready" test "$(shows ActiveState):$(shows SubState)" = active:running
check "it runs as waterh, and not as root" test "$(ps -o user= -p "$(shows MainPID)")" = waterh
for each in waterh-gateway.service waterh-emulator@hci1.service; do
    check "systemd-analyze security $each: at most 2.5" systemd-analyze security --no-pager --threshold=25 "$each"
    systemd-analyze security --no-pager "$each" | sed -n 's/^.*Overall/        Overall/p'
done

# --- a bottle on the air, by bluetoothd
printf 'OPTIONS=--profile retail --name WaterH-Unit\n' >/etc/waterh/emulator-hci1.env
printf 'link = "bluez:hci0"\nbottle = "00:AA:01:01:00:01"\n' >>/etc/waterh/waterh.toml
check "the bottle's unit starts with its adapter" systemctl start waterh-emulator@hci1.service
check "a sip" within 60 waterh-emulator control --control unix:/run/waterh-emulator-hci1/control sip 120
systemctl restart "$unit"
has() { drinks | grep -q ',120,\|,120$\|"120"'; }
check "the drink is in the journal" within 240 has
check "the bottle's unit ends" systemctl stop waterh-emulator@hci1.service

# --- the lines of the journal
before=$(journal | wc -l)
check "a reload" systemctl reload "$unit"
reloaded() { [ "$(journal | wc -l)" -gt "$before" ]; }
check "a reload is logged" within 30 reloaded
check "the journal has no error about thread priorities (libdispatch)" sh -c "! journalctl -b --no-pager -o cat -u $unit | grep -i priority"
begun=$(now) quiet=$(journal | wc -l)
sleep 30
check "an idle half minute is at most three lines" test $(($(journal | wc -l) - quiet)) -le 3

# --- a service that hangs
mkdir -p /run/systemd/system/$unit.d
printf '[Service]\nWatchdogSec=8\nTimeoutAbortSec=4\n' >/run/systemd/system/$unit.d/quick.conf
systemctl daemon-reload && systemctl restart "$unit"
within 60 answers >/dev/null
stuck=$(shows MainPID)
kill -STOP "$stuck"
another() { [ "$(shows MainPID)" != "$stuck" ] && [ "$(shows ActiveState)" = active ]; }
check "the watchdog restarts a service that hangs" within 90 another
# So short a limit would end later services on a busy machine, too.
rm -r /run/systemd/system/$unit.d && systemctl daemon-reload
check "the page answers after the watchdog restart" within 180 answers
check "the journal has the watchdog timeout" sh -c "journalctl -b --no-pager -u $unit | grep -q -i 'watchdog timeout'"

# --- a service that crashes
settled=$(shows MainPID)
kill -SEGV "$settled"
stack() { journal | grep -q 'Program crashed' && journal | grep -q ' in waterh-gateway$'; }
check "a crash leaves a stack in the journal" within 120 stack
# The backtracer can let the program continue after a signal without a fault: a second one ends it.
[ "$(shows MainPID)" != "$settled" ] || kill -SEGV "$settled"
after() { [ "$(shows MainPID)" != "$settled" ] && [ "$(shows ActiveState)" = active ] && answers; }
check "the service is restarted after a crash" within 90 after

# --- a credential that only root can read
cp -p /etc/waterh/waterh.toml open.toml
(umask 077 && echo a-password-of-root >/etc/waterh/mqtt-password)
check "the user waterh cannot read root's file" sh -c '! setpriv --reuid=waterh --regid=waterh --clear-groups cat /etc/waterh/mqtt-password'
mkdir -p /etc/systemd/system/$unit.d
printf '[Service]\nLoadCredential=mqtt-password:/etc/waterh/mqtt-password\n' >/etc/systemd/system/$unit.d/credential.conf
printf '[mqtt]\nurl = "mqtt://127.0.0.1:8079"\nuser = "waterh"\npassword-file = "/run/credentials/%s/mqtt-password"\n' "$unit" >>/etc/waterh/waterh.toml
systemd-socket-activate --accept --inetd --listen=127.0.0.1:8079 tee -a "$folder/received.txt" >/dev/null 2>&1 &
listener=$!
systemctl daemon-reload && systemctl restart "$unit"
within 60 answers >/dev/null
has_password() { grep -q 'a-password-of-root' "$folder/received.txt" 2>/dev/null; }
check "LoadCredential= gives the password to the service" within 60 has_password
kill $listener 2>/dev/null
rm -r /etc/systemd/system/$unit.d /etc/waterh/mqtt-password
cat open.toml >/etc/waterh/waterh.toml
systemctl daemon-reload && systemctl restart "$unit"
within 60 answers >/dev/null

# --- messages about errors, and no restart loop
cp -p /etc/waterh/waterh.toml kept.toml
echo 'link = bluez' >>/etc/waterh/waterh.toml
systemctl restart "$unit" 2>/dev/null
down() { [ "$(shows ActiveState)" = failed ]; }
check "the service does not start with an invalid configuration" within 60 down
check "the service is not restarted after an invalid configuration" test "$(shows NRestarts)" = 0
check "the journal has the file and the line of the error" sh -c "journalctl -b --no-pager -o cat -n 30 -u $unit | grep -q 'waterh.toml.*line'"
cat kept.toml >/etc/waterh/waterh.toml
systemctl reset-failed "$unit"
systemctl stop "$unit"
cp -p "$store" kept.sqlite
rm -f "$store"-wal "$store"-shm
cat tomorrow.sqlite >"$store"
sum=$(sha256sum <"$store")
systemctl start "$unit" 2>/dev/null
check "the service does not start with a store of a later version" within 60 down
check "the journal has an action for the later store" sh -c "journalctl -b --no-pager -o cat -n 30 -u $unit | grep -q 'Nothing was changed'"
check "the later store is unchanged" test "$(sha256sum <"$store")" = "$sum"
cat kept.sqlite >"$store"
systemctl reset-failed "$unit"
systemctl start "$unit"
check "the service runs again with the former store" within 60 answers
drinks_before=$(drinks)

# --- no bluetoothd, and a full disk
systemctl mask --now --runtime bluetooth.service 2>/dev/null
before=$(journal | wc -l)
systemctl restart "$unit"
check "without bluetoothd the page answers" within 60 answers
bluetooth_reported() { journal | tail -n +"$((before + 1))" | grep -q -i bluetooth; }
check "the journal reports the missing bluetoothd" within 90 bluetooth_reported
systemctl unmask --runtime bluetooth.service 2>/dev/null
systemctl start bluetooth.service
systemctl stop "$unit"
drinks_before=$(drinks)
cp -a /var/lib/waterh /root/drinks
mount -t tmpfs -o "size=$(($(du -sk /root/drinks | cut -f1) + 2048))k,mode=750,uid=$(id -u waterh),gid=$(id -g waterh)" none /var/lib/waterh
cp -a /root/drinks/. /var/lib/waterh/
dd if=/dev/zero of=/var/lib/waterh/filler bs=4k 2>/dev/null
systemctl start "$unit" --no-block
full() { ! setpriv --reuid=waterh --regid=waterh --clear-groups waterh-tracker log 333 --store "$store" 2>no-room.txt && grep -q -i 'full' no-room.txt; }
check "on a full disk a drink is rejected with a message" full
rm /var/lib/waterh/filler
check "the service continues when the disk has room again" within 90 answers
check "no drink is lost by the full disk" test "$(drinks)" = "$drinks_before"
systemctl stop "$unit"
umount /var/lib/waterh
systemctl start "$unit"
within 60 answers >/dev/null

# --- upgrades, and a rejected downgrade
check "an older package with the same store" install ./older.deb
first=$(shows MainPID)
check "an upgrade" install ./waterh.deb
restarted() { [ "$(shows MainPID)" != "$first" ] && answers; }
check "an upgrade restarts the service" within 60 restarted
check "an upgrade keeps the drinks" test "$(drinks)" = "$drinks_before"
dpkg --unpack ./waterh.deb >/dev/null 2>&1
check "an upgrade that was interrupted after its files" test "$(dpkg-query -W -f='${db:Status-Status}' waterh)" = unpacked
check "dpkg --configure -a completes it" dpkg --configure -a
check "the page answers after dpkg --configure -a" within 60 answers
check "the drinks are kept after dpkg --configure -a" test "$(drinks)" = "$drinks_before"
check "a later package" install ./later.deb
within 60 answers >/dev/null
message=$(install ./waterh.deb 2>&1)
code=$?
check "a package that does not know the store's version is rejected" test $code != 0
check "the rejection has a message" grep -q 'cannot read the store of the installed .* (migration tomorrow). Nothing was changed' <<<"$message"
check "the later package keeps running" within 60 answers
check "the later package keeps its drinks" test "$(drinks)" = "$drinks_before"
check "dpkg --audit reports no problem" sh -c 'test -z "$(dpkg --audit)"'

# --- removal and reinstallation
check "removing" apt-get remove -y -q waterh
gone() { ! systemctl is-active --quiet "$unit" && ! answers 2>/dev/null; }
check "the service stops with the removal" within 30 gone
check "the removal keeps the drinks" test -s "$store"
systemd-socket-activate --accept --inetd --listen=127.0.0.1:8077 cat >/dev/null 2>&1 &
foreign=$!
before=$(journal | wc -l)
check "a reinstallation while another process has the port" install ./waterh.deb
reported() { journal | tail -n +"$((before + 1))" | grep -q '8077.*It is retried'; }
check "the used port is reported" within 60 reported
check "the service runs without the port" systemctl is-active --quiet "$unit"
kill $foreign
check "the page answers when the port is free" within 120 answers
check "the reinstallation keeps the drinks" test "$(drinks)" = "$drinks_before"

# --- a user service, without root
useradd --create-home person
loginctl enable-linger person
bus=/run/user/$(id -u person)
check "a user's manager" within 60 test -S "$bus/systemd/private"
as_person() { setpriv --reuid=person --regid=person --init-groups env HOME=/home/person XDG_RUNTIME_DIR="$bus" "$@"; }
mkdir -p /home/person/.config/waterh
printf 'listen = "127.0.0.1:8078"\nlink = "bluez:hci0"\n' >/home/person/.config/waterh/waterh.toml
chown -R person: /home/person
check "systemctl --user enable --now waterh-gateway-user" as_person systemctl --user enable --now waterh-gateway-user
page() { curl -fsS -m 5 http://127.0.0.1:8078/healthz; }
check "shows the user's own page, next to the system's" within 60 page
check "the user service has its own store" test -s /home/person/.local/state/waterh/waterh.sqlite
sed -i s/8078/8077/ /home/person/.config/waterh/waterh.toml
as_person systemctl --user restart waterh-gateway-user
port_reported() { journalctl -b --no-pager -o cat _UID="$(id -u person)" | grep -q '8077'; }
check "a port that another service has is reported" within 60 port_reported
as_person systemctl --user disable --now waterh-gateway-user >/dev/null 2>&1

check "purging" apt-get purge -y -q waterh
check "a purge keeps the drinks" test -s "$store"
journal >journal.txt
echo "$failed failed"
[ $failed = 0 ]
