#!/bin/bash
# In the test VM, under systemd: upgrades of a 0.9 package, for one person on a host with chrony, then for two people. upgrade_tests.py starts it.
# usage: upgrade_guest.sh FOLDER      with old.deb, new.deb and guest.sh. Bottles are emulated on hci1 and hci2.
set -u
folder=$1
. "$folder/guest.sh"
cd "$folder" || exit 1

# The configuration differs from that of the package: keep it, as unattended-upgrades does.
upgrade() { install -o Dpkg::Options::=--force-confold ./new.deb; }
# as_waterh STORE COMMAND…: as the service's user, with the instance of the store's person.
as_waterh() { WATERH_INSTANCE=$(basename "$1" .sqlite | sed 's/^waterh$//') setpriv --reuid=waterh --regid=waterh --clear-groups "${@:2}"; }
total() { as_waterh "$1" waterh-tracker status --json --store "$1" | grep -o '"totalMl":[0-9]*'; }
bottle() { waterh-emulator control --control "unix:/run/waterh-emulator-$1/control" "${@:2}"; }
is_empty() { bottle "$1" --json status | grep -q '"records":0,.*"acknowledged":[1-9]'; }
page() { curl -fsS -m 5 "http://127.0.0.1:$1/healthz" && curl -fsS -m 5 "http://127.0.0.1:$1/" | grep -q '<title>'; }
has() { [ "$(total "$1")" = "\"totalMl\":$2" ]; }

# upgraded STORE ADAPTER PORT TOTAL: a store after the upgrade, before and after its next poll.
upgraded() {
    check "$1: the page answers at port $3" within 90 page "$3"
    check "$1: the total of today is the same" has "$1" "$4"
    check "$1: a sip of 50 ml" within 60 bottle "$2" sip 50
    check "$1: a poll" within 60 as_waterh "$1" waterh-gateway nudge --store "$1"
    check "$1: the poll stores the drink" within 120 has "$1" $(($4 + 50))
    check "$1: the poll acknowledges the drink" within 60 is_empty "$2"
}

emulators() {
    for adapter in "$@"; do
        printf 'OPTIONS=--profile retail\n' >"/etc/waterh/emulator-$adapter.env"
        check "the bottle on $adapter" systemctl start "waterh-emulator@$adapter.service"
        check "a sip of 120 ml" within 60 bottle "$adapter" sip 120
    done
}

# --- one person, on a host whose clock chrony sets
printf 'local stratum 8\nallow 127.0.0.1\nport 11123\ncmdport 0\nbindcmdaddress /\npidfile /run/chrony-server.pid\n' >server.conf
chronyd -x -f "$folder/server.conf"
printf 'server 127.0.0.1 port 11123 iburst minpoll 0 maxpoll 1\nrtcsync\nmakestep 1 -1\n' >/etc/chrony/chrony.conf
systemctl restart chrony.service
is_synchronised() { timedatectl show -p NTPSynchronized | grep -q =yes; }
check "chrony synchronises the clock" within 120 is_synchronised
store=/var/lib/waterh/waterh.sqlite
check "0.9 is installed" install ./old.deb
printf 'link = "bluez:hci0"\n[gotify]\nurl = "http://127.0.0.1:9"\n' >>/etc/waterh/waterh.toml
emulators hci1
systemctl restart waterh-gateway.service
check "0.9 stores the drink" within 300 has $store 120
check "0.9 acknowledges the drink" within 60 is_empty hci1
check "an upgrade" upgrade
check "the service runs" systemctl is-active waterh-gateway.service
upgraded $store hci1 8077 120
waterh-gateway doctor >doctor.txt 2>&1
cat doctor.txt
check "doctor names the removed key" grep -q 'gotify.*removed in 0.10' doctor.txt
check "doctor reports that the time server confirms the clock" grep -qi 'clock.*synchroni' doctor.txt
check "doctor prints how to open the page" grep -q 'waterh-gateway open' doctor.txt
check "doctor fits on a screen of 50 lines" test "$(wc -l <doctor.txt)" -le 50
check "purging" apt-get purge -y -q waterh
rm -rf /var/lib/waterh /var/lib/waterh-emulator

# --- two people in one service become two services
check "0.9 is installed again" install ./old.deb
cat >/etc/waterh/waterh.toml <<'TOML'
link = "bluez:hci0"
listen = "127.0.0.1:8077"
[[person]]
name = "anna"
store = "/var/lib/waterh/anna.sqlite"
bottles = ["00:AA:01:01:00:01"]
[[person]]
name = "ben"
store = "/var/lib/waterh/ben.sqlite"
bottles = ["00:AA:01:02:00:02"]
TOML
emulators hci1 hci2
systemctl restart waterh-gateway.service
for name in anna ben; do check "0.9 stores the drink of $name" within 300 has /var/lib/waterh/$name.sqlite 120; done
for adapter in hci1 hci2; do check "and acknowledges it on $adapter" within 60 is_empty $adapter; done
check "an upgrade" upgrade
for name in anna ben; do check "the service of $name runs" systemctl is-active "waterh-gateway@$name.service"; done
check "the service of 0.9 is not active" sh -c '! systemctl is-active waterh-gateway.service'
upgraded /var/lib/waterh/anna.sqlite hci1 8077 120
upgraded /var/lib/waterh/ben.sqlite hci2 8078 120
check "doctor of anna" env WATERH_INSTANCE=anna waterh-gateway doctor
echo "$failed failed"
[ $failed = 0 ]
