#!/bin/sh
# install.sh [OPTION...]: makes sandstorm-mcp a service of this machine (systemd, OpenRC, procd or busybox init) that serves
# files and a shell over HTTP. Called again it upgrades in place. Needs root, a POSIX shell and nothing else.
#   --user NAME     whom commands run as (dev; root on OpenWrt), made when missing
#   --binary FILE   the program; else the one beside this script, else the one for this machine in ../out, else it is built
#   --init NAME     systemd, openrc, procd or busybox, where it is not found out
#   --uninstall     takes the service away; the settings and the workspace stay
#   --purge         the same, and the settings, the certificates and the user that was made; the workspace stays
#   --print WHAT    prints and changes nothing: target, service, socket, openrc, procd, uci, inittab, run
# SANDSTORM_DOMAIN, _MCP_HOST, _MCP_PORT, _WORKSPACE_ROOT and a few more variables become settings the first time. A domain puts
# Caddy in front, where it is packaged; else all but loopback is served with a certificate made here. Settings are in
# /etc/sandstorm-mcp.env; what stands there stays.
# PREFIX is where the program goes (/usr/local).
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
name=sandstorm-mcp
env_file=/etc/$name.env
tls=/etc/$name.tls
mark="made by install.sh of $name"	# in each file of ours: such a one may be replaced or removed
user='' binary='' init='' what=install print=

say() { echo "install: $*"; }
die() { echo "install: $*" >&2; exit 1; }
has() { command -v "$1" > /dev/null 2>&1; }
quiet() { "$@" > /dev/null 2>&1; }
try() { said=$("$@" 2>&1) || die "$* failed: $said"; }

usage() { sed -n '2,14s/^# \{0,1\}//p' "$0"; }
while [ $# -gt 0 ]; do
	case $1 in
	--user | --binary | --init | --print)
		[ $# -gt 1 ] || { echo "install: $1 needs a value, see --help" >&2; exit 2; } ;;
	esac
	case $1 in
	--user) user=$2; shift ;;
	--binary) binary=$2; shift ;;
	--init) init=$2; shift ;;
	--print) what=print print=$2; shift ;;
	--uninstall) what=uninstall ;;
	--purge) what=purge ;;
	--help | -h) usage; exit 0 ;;
	*) echo "install: unknown option $1, see --help" >&2; exit 2 ;;
	esac
	shift
done

# ---- the machine

# Bytes of the program that runs this script's shell tell the word size and the byte order of what is installed here, which
# may be less than what the kernel can do. probe: a root to look at instead of this one.
probe=${SANDSTORM_PROBE-}
elf_byte() { head -c "$1" "$probe/bin/sh" | tail -c 1 | tr '\001\002' 'ab'; }

arm() {		# VFP is what armv7 has over armv5; one that runs a hard-float system has it
	if grep -qE '^Features.*[[:space:]](vfp|fp|asimd)' "$probe/proc/cpuinfo" 2> /dev/null ||
		[ -e "$probe/lib/ld-linux-armhf.so.3" ] || [ -e "$probe/lib/ld-musl-armhf.so.1" ]; then
		echo armv7
	else
		echo armv5
	fi
}

target() {
	word=$(elf_byte 5)		# a: 32 bits, b: 64
	order=$(elf_byte 6)		# a: little endian, b: big
	machine=$(uname -m)
	case $machine in
	x86_64 | amd64) [ "$word" = a ] && echo i686 || echo x86_64 ;;
	i[3-6]86) echo i686 ;;
	aarch64 | arm64) if [ "$word" = a ]; then arm; else echo aarch64; fi ;;
	armv7* | armv8*) arm ;;
	arm*) echo armv5 ;;
	mips*) [ "$order" = a ] && echo mipsel || echo mips ;;
	*) echo "$machine" ;;
	esac
}

find_init() {
	if [ -x /sbin/procd ] || [ -e /etc/openwrt_release ]; then echo procd
	elif [ -d /run/systemd/system ]; then echo systemd
	elif has openrc-run || [ -x /sbin/openrc-run ]; then echo openrc
	elif [ -e /etc/inittab ]; then echo busybox
	fi
}

[ -n "$init" ] || init=$(find_init)
case $init in
procd) prefix=${PREFIX:-/usr} ;;
*) prefix=${PREFIX:-/usr/local} ;;
esac
bin=$prefix/bin/$name
lib=$prefix/lib/$name
# whom it was installed for before, also by hand
[ -n "$user$print" ] || user=$(sed -n 's/^User=//p' /etc/systemd/system/$name.service 2> /dev/null) || user=
[ -n "$user$print" ] || user=$(cat "$lib/user" 2> /dev/null) || user=
[ -n "$user" ] || case $init in procd) user=root ;; *) user=dev ;; esac

# ---- settings

# setting NAME [FILE]: its value in the settings, read as the server reads it; the last one counts. What is only printed is
# for any machine.
setting() {
	[ "$what" != print ] || return 0
	[ -r "${2:-$env_file}" ] || return 0
	sed -n "s/^[[:space:]]*\(export[[:space:]]\{1,\}\)\{0,1\}$1[[:space:]]*=[[:space:]]*//p" "${2:-$env_file}" | tail -n 1 |
		sed 's/[[:space:]]*$//; s/^"\(.*\)"$/\1/; s/^'\''\(.*\)'\''$/\1/'
}
add() { [ -n "$(setting "$1" "$new_env")" ] || printf '%s=%s\n' "$1" "$2" >> "$new_env"; }

# of OpenWrt's configuration, which tells there where and how it serves
uci_option() { [ "$init$what" != procdprint ] && [ "$init" = procd ] && uci -q get "$name.main.$1"; }

is_loopback() { case $1 in 127.* | ::1 | \[::1\] | localhost) true ;; *) false ;; esac }
host() {
	h=$(setting SANDSTORM_MCP_HOST)
	! i=$(uci_option interface) || h=$(uci -q get "network.$i.ipaddr") || h=$i
	h=${h%%/*}
	echo "${h:-127.0.0.1}"
}
port() { p=$(uci_option port) || p=$(setting SANDSTORM_MCP_PORT); echo "${p:-8080}"; }
certificate() {
	if [ "$init" = procd ]; then
		[ "$(uci_option tls)" = 0 ] || echo "$tls/server.pem"
	else
		setting SANDSTORM_TLS_CERT
	fi
}
workspace() { w=$(uci_option workspace) || w=$(setting SANDSTORM_WORKSPACE_ROOT); echo "${w:-/home/dev}"; }
public_url() {
	url=$(setting SANDSTORM_PUBLIC_URL)
	[ -n "$url" ] || [ -z "$domain" ] || url=https://$domain
	[ -n "$url" ] || url=http$([ -z "$(certificate)" ] || echo s)://$(addresses "$(port)" | head -n 1)
	echo "${url%/}"
}
grace() { g=$(setting SANDSTORM_STOP_GRACE); echo "${g:-30}"; }
stop_limit() { g=$(grace); echo $((${g%%.*} + 15)); }		# seconds: the grace, then what a server needs to end

# ---- the files of each init system

# host:port in the form of socket units, for each address; a machine without IPv6 has no ::1
addresses() {
	h=$(host) h=${h#[} h=${h%]}
	case $h in
	localhost)
		echo "127.0.0.1:$1"
		[ ! -e /proc/net/if_inet6 ] || echo "[::1]:$1" ;;
	*:*) echo "[$h]:$1" ;;
	*) echo "$h:$1" ;;
	esac
}

print_socket() {
	cat <<EOF
# $mark; host and port are those of $env_file: call install.sh after changing them there
[Unit]
Description=socket of $name: stays while one server makes place for the next

[Socket]
EOF
	addresses "$(port)" | sed 's/^/ListenStream=/'
	[ -z "$(setting SANDSTORM_ACME_WEBROOT)" ] || [ -z "$(setting SANDSTORM_TLS_CERT)" ] || {
		p=$(setting SANDSTORM_ACME_PORT)
		addresses "${p:-80}" | sed 's/^/ListenStream=/'
	}
	cat <<EOF
Backlog=4096
FreeBind=yes

[Install]
WantedBy=sockets.target
EOF
}

# Hardening: only what takes nothing from a shell that works on files. Left out, since they would: MemoryDenyWriteExecute
# (node), RestrictNamespaces and ProtectKernelTunables (containers without root), RestrictSUIDSGID (git init --shared),
# SystemCallArchitectures and LockPersonality (programs of 32 bits, debuggers), ProtectHome (the workspace is there).
print_service() {
	root=$(workspace) private=yes
	case $root/ in /tmp/* | /var/tmp/*) private=no ;; esac
	paths=$(for p in "$root" "$(setting SANDSTORM_STATE_DIR)"; do
		[ -z "$p" ] || printf ' "-%s"' "$p" | sed 's/%/%%/g'
	done)
	cat <<EOF
# $mark
[Unit]
Description=$name: files and a shell of this machine for AI clients
Requires=$name.socket
After=network.target $name.socket

[Service]
Type=exec
User=$user
WorkingDirectory=~
Environment=SANDSTORM_STOP_GRACE=$(grace)
EnvironmentFile=$env_file
ExecStart=$bin serve
ExecReload=/bin/sh -c 'kill -HUP \$MAINPID'
# calls that run get the grace to end; what the server has started ends with it
KillMode=mixed
TimeoutStopSec=$(stop_limit)
Restart=on-failure
RestartSec=3
RestartPreventExitStatus=2

NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=full
ReadWritePaths=${paths# }
PrivateTmp=$private
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallFilter=~@clock @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
EOF
}

# For inits that do not read settings or change the user themselves.
print_run() {
	cat <<EOF
#!/bin/sh
# $mark
# run [--log FILE] [ARG...]: becomes the server, with the settings of $env_file, as $user.
set -eu
bin=$bin user=$user
export SANDSTORM_STOP_GRACE=$(grace)
EOF
	cat <<'EOF'

trim() { t=${1#"${1%%[![:space:]]*}"}; t=${t%"${t##*[![:space:]]}"}; }
set_line() {
	trim "$1"
	case $t in '' | \#*) return ;; esac
	trim "${t#export }"
	value=${t#*=}
	trim "${t%%=*}"
	name=$t
	case $name in '' | [0-9]* | *[!A-Za-z0-9_]*) echo "run: no NAME=value: $name" >&2; exit 2 ;; esac
	trim "$value"
	case $t in \"*\") t=${t#\"} t=${t%\"} ;; \'*\') t=${t#\'} t=${t%\'} ;; esac
	export "$name=$t"
}

if [ "${1-}" = --log ]; then
	if [ -e "$2" ] && [ "$(wc -c < "$2")" -gt 1048576 ]; then mv "$2" "$2.1"; fi
	exec >> "$2" 2>&1
	shift 2
EOF
	echo "	echo \$\$ > /run/$name.pid"
	cat <<'EOF'
	# what is refused is no reason to try again every second
EOF
	echo "	\"\$bin\" serve --check --workspace-root / --env-file $env_file || { sleep 30; exit 2; }"
	cat <<EOF
fi
while IFS= read -r line || [ -n "\$line" ]; do
	set_line "\$line"
done < $env_file
EOF
	cat <<'EOF'
if [ "$(id -un)" != "$user" ]; then
	home=$(sed -n "s/^$user:\([^:]*:\)\{4\}\([^:]*\):.*/\2/p" /etc/passwd)
	export HOME="${home:-/}" USER="$user" LOGNAME="$user"
fi
cd "${HOME:-/}" 2> /dev/null || cd /
[ "$(id -un)" != "$user" ] || exec "$bin" serve "$@"
group=$(id -gn "$user")
if setpriv --reuid="$user" --regid="$group" --init-groups true 2> /dev/null; then
	exec setpriv --reuid="$user" --regid="$group" --init-groups "$bin" serve "$@"
elif chpst -u "$user" true 2> /dev/null; then
	exec chpst -u "$user" "$bin" serve "$@"
fi
exec su -s /bin/sh "$user" -c 'exec "$0" serve "$@"' "$bin" "$@"
EOF
}

print_openrc() {
	cat <<EOF
#!/sbin/openrc-run
# $mark
name="$name"
description="files and a shell of this machine for AI clients"
supervisor="supervise-daemon"
command="$lib/run"
command_args="--log /var/log/$name.log"
pidfile="/run/$name-supervise.pid"
respawn_delay=3
respawn_max=0
retry="TERM/$(stop_limit)/KILL/5"
required_files="$env_file"
extra_started_commands="reload"

depend() {
	use net dns logger
	after firewall
}

start_pre() {
	"$bin" serve --check --workspace-root / --env-file "$env_file"
}

reload() {
	ebegin "Reading the token and the certificate of $name again"
	kill -HUP "\$(cat /run/$name.pid)"
	eend \$?
}
EOF
}

print_inittab() { echo "::respawn:$lib/run --log /var/log/$name.log"; }

print_uci() {
	cat <<EOF
# $mark; also read: $env_file, with the token
config sandstorm-mcp 'main'
	option enabled '1'
	# an interface of /etc/config/network whose address is served, or an address
	option interface 'lan'
	option port '8080'
	# https with a certificate of our own; the page at / has the CA and how to trust it
	option tls '1'
	# in memory, so that the flash is not worn; name a disk to keep files over a restart. What the server itself keeps
	# is below it, in .sandstorm-mcp
	option workspace '/tmp/$name'
	# for messages, such as 16M; a quarter of the memory when empty
	option memory ''
	# further settings as NAME=value
	#list env 'SANDSTORM_READ_ONLY=1'
EOF
}

print_procd() {
	cat <<EOF
#!/bin/sh /etc/rc.common
# $mark
# shellcheck disable=SC2034,SC2154

START=95
STOP=10
USE_PROCD=1
BIN=$bin
ENV_FILE=$env_file
TLS=$tls
EOF
	cat <<'EOF'

. /lib/functions/network.sh

address_of() {		# of an interface of /etc/config/network; what is none is an address
	network_get_ipaddr address "$1" || address=$1
	case $address in '' | *[!0-9a-fA-F.:]*) address=127.0.0.1 ;; esac
}

quarter_of_memory() {	# in KiB; 8 MiB is the least the server takes, 64 MiB all that it can make use of
	while read -r key value _; do
		[ "$key" != MemTotal: ] || memory=$((value / 4))
	done < /proc/meminfo
	[ "$memory" -ge 8192 ] || memory=8192
	[ "$memory" -le 65536 ] || memory=65536
	memory=${memory}K
}

make_token() {
	[ -s "$ENV_FILE" ] || (umask 077 && echo "SANDSTORM_MCP_TOKEN=$("$BIN" token)" > "$ENV_FILE")
}

append_env() { procd_append_param env "$1"; }

start_service() {
	local enabled interface port tls workspace memory address
	config_load sandstorm-mcp
	config_get_bool enabled main enabled 1
	[ "$enabled" = 1 ] || return 0
	config_get interface main interface lan
	config_get port main port 8080
	config_get_bool tls main tls 1
	config_get workspace main workspace /tmp/sandstorm-mcp
	config_get memory main memory
	[ -n "$memory" ] || quarter_of_memory
	address_of "$interface"
	mkdir -p "$workspace"
	make_token

	procd_open_instance
	procd_set_param command "$BIN" serve --env-file "$ENV_FILE"
	procd_set_param env "SANDSTORM_MCP_HOST=$address" "SANDSTORM_MCP_PORT=$port" \
		"SANDSTORM_WORKSPACE_ROOT=$workspace" "SANDSTORM_MEMORY=$memory" \
		SANDSTORM_STOP_GRACE=5 SANDSTORM_LOG_FORMAT=text HOME=/root
	if [ "$tls" = 1 ]; then
		[ "$(cat "$TLS/for" 2> /dev/null)" = "$address" ] || {
			"$BIN" cert --host "$address,localhost,127.0.0.1" "$TLS" > /dev/null && echo "$address" > "$TLS/for"
		}
		procd_append_param env "SANDSTORM_TLS_CERT=$TLS/server.pem" "SANDSTORM_TLS_KEY=$TLS/server.key"
	fi
	config_list_foreach main env append_env
	procd_set_param respawn 3600 5 5
	procd_set_param term_timeout 10
	procd_set_param stdout 1		# to logd, which is in memory
	procd_set_param stderr 1
	procd_close_instance
}

service_triggers() {
	procd_add_reload_trigger sandstorm-mcp network
}
EOF
}

if [ "$what" = print ]; then
	case $print in
	target | service | socket | openrc | procd | uci | inittab | run)
		case $print in target) target ;; *) "print_$print" ;; esac
		exit 0 ;;
	*) echo "install: nothing is called $print, see --help" >&2; exit 2 ;;
	esac
fi

[ "$(id -u)" = 0 ] || die "needs root"
case $init in
systemd | openrc | procd | busybox) ;;
'') die "no init system found that is known here (systemd, OpenRC, procd, busybox): name it with --init" ;;
*) echo "install: unknown init system $init, see --help" >&2; exit 2 ;;
esac

# ---- files

# put MODE PATH: standard input, when it differs; a file of somebody else is kept as PATH.before-sandstorm-mcp. 1: no change
put() {
	mkdir -p "$(dirname "$2")"
	cat > "$2.new"
	chmod "$1" "$2.new"
	if cmp -s "$2.new" "$2"; then
		rm "$2.new"
		return 1
	fi
	[ ! -e "$2" ] || grep -qF "$mark" "$2" || mv "$2" "$2.before-$name"
	mv "$2.new" "$2"
}
drop() { [ ! -e "$1" ] || ! grep -qF "$mark" "$1" || rm "$1"; }

# ---- the program

runs() { [ -f "$1" ] && quiet "$1" --version; }

find_binary() {
	if [ -n "$binary" ]; then
		runs "$binary" || die "$binary does not run here; for this machine take $name-$(target)"
		return
	fi
	t=$(target)
	for binary in "$here/$name" "$here/$name-$t" "$here/../out/$name-$t" "$here/../out/$name"; do
		runs "$binary" && return
	done
	[ -e "$here/../Makefile" ] || die "no program for this machine ($t) beside $0: put $name-$t there"
	say "building the program"
	make -C "$here/.." > /dev/null
	binary=$here/../out/$name
}

# ---- user and folders

make_user() {
	mkdir -p "$lib"
	echo "$user" > "$lib/user"
	! grep -q "^$user:" /etc/passwd || return 0
	home=/home/$user
	if has useradd; then
		useradd --create-home --home-dir "$home" --user-group --shell /bin/sh "$user"
	elif has adduser; then
		adduser -D -h "$home" -s /bin/sh "$user"
	else
		id=1000
		while grep -q "^[^:]*:[^:]*:$id:" /etc/passwd /etc/group; do id=$((id + 1)); done
		echo "$user:x:$id:" >> /etc/group
		echo "$user:x:$id:$id::$home:/bin/sh" >> /etc/passwd
		[ ! -e /etc/shadow ] || echo "$user:!:::::::" >> /etc/shadow
		mkdir -p "$home"
		chown "$user:$user" "$home"
	fi
	: > "$lib/made-user"
	say "made the user $user"
}

make_workspace() {
	root=$(workspace)
	[ -d "$root" ] || {
		mkdir -p "$root"
		chown "$user:" "$root"
		say "made the workspace $root"
	}
}

# ---- TLS and Caddy

packaged() {	# caddy from the system's packages
	has caddy && return
	say "installing Caddy"
	if has apt-get; then quiet env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get -q update; apt-get -qy install --no-install-recommends caddy'
	elif has apk; then quiet apk add caddy
	elif has dnf; then quiet dnf -y install caddy
	fi
	has caddy
}

caddyfile=/etc/caddy/Caddyfile
snippet=/etc/caddy/$name.caddy
import="import $name.caddy"
untouched() {	# as the package has brought it
	sum=$(dpkg-query -W -f '${Conffiles}\n' caddy 2> /dev/null | sed -n "s|^ *$caddyfile ||p")
	[ -n "$sum" ] && [ "${sum%% *}" = "$(md5sum < "$caddyfile" | cut -c 1-32)" ]
}

# Caddy 2.6 closes a connection whose answer comes before it has noted the end of the request: some answers arrive cut
hands_on_early() { case $(caddy version) in v2.6.* | 2.6.*) ;; *) false ;; esac; }

set_up_caddy() {
	domain=$1
	if [ -e "$caddyfile" ] && ! grep -qxF "$import" "$caddyfile" &&
		sed 's/#.*//' "$caddyfile" | grep -qF "$domain"; then
		say "$caddyfile has $domain already and is left as it is"
		return
	fi
	upstream=$(host)
	case $upstream in 0.0.0.0 | :: | \[::\] | localhost) upstream=127.0.0.1 ;; \[*) ;; *:*) upstream="[$upstream]" ;; esac
	more=
	! hands_on_early || more=' {\n\t\tbuffer_requests\n\t}'
	printf "# %s\n%s {\n\treverse_proxy %s:%s$more\n}\n" "$mark" "$domain" "$upstream" "$(port)" | put 644 "$snippet" || :
	if [ ! -e "$caddyfile" ]; then
		echo "$import" > "$caddyfile"
	elif grep -qxF "$import" "$caddyfile"; then
		:
	elif untouched; then
		printf '\n%s\n' "$import" >> "$caddyfile"
	else
		say "$caddyfile is not of this script and is left as it is; add this line to it: $import"
		return
	fi
	if ! quiet caddy validate --adapter caddyfile --config "$caddyfile"; then
		drop_import
		die "Caddy refuses $snippet; see: caddy validate --config $caddyfile"
	fi
	case $init in
	systemd) quiet systemctl enable --now caddy && quiet systemctl reload caddy ;;
	openrc) quiet rc-update add caddy default; quiet rc-service caddy restart ;;
	*) false ;;
	esac || say "start Caddy, or make it read $caddyfile again"
}

drop_import() {
	[ ! -e "$caddyfile" ] || ! grep -qxF "$import" "$caddyfile" || {
		grep -vxF "$import" "$caddyfile" > "$caddyfile.new" || :
		cat "$caddyfile.new" > "$caddyfile"
		rm "$caddyfile.new"
		[ -s "$caddyfile" ] || rm "$caddyfile"
	}
}

# what this machine is called in its network; busybox's hostname has no -I, and one that was never set is "(none)"
own_names() {
	hostname 2> /dev/null || :
	hostname -I 2> /dev/null || ip addr 2> /dev/null | sed -n 's|^ *inet6\{0,1\} \([^ /]*\).* scope global.*|\1|p'
	echo localhost 127.0.0.1
}

# A new installation that others reach without Caddy in front. The service reads its key by its group.
set_up_tls() {
	names=$1
	for n in $(own_names); do
		case $n in *[!A-Za-z0-9._:-]*) continue ;; esac
		case ",$names," in *",$n,"*) ;; *) names="$names${names:+,}$n" ;; esac
	done
	"$binary" cert --host "$names" "$tls" | sed 's/^/  /'
	add SANDSTORM_TLS_CERT "$tls/server.pem"
	add SANDSTORM_TLS_KEY "$tls/server.key"
}

# ---- the settings of this installation

new_env=$env_file.new
known='DOMAIN MCP_HOST MCP_PORT WORKSPACE_ROOT PUBLIC_URL TRUSTED_PROXIES ALLOWED_ORIGINS READ_ONLY TOOLS STATE_DIR'

# The settings as they are to be, in $new_env: what stands in the file stays, what is missing comes from the environment.
make_settings() {
	fresh=
	(umask 077 && : > "$new_env")
	if [ -e "$env_file" ]; then
		cat "$env_file" > "$new_env"
		[ -z "$(tail -c 1 "$new_env")" ] || echo >> "$new_env"
	else
		fresh=1
		echo "# $mark: settings of the server, see the README's table; what stands here stays at an upgrade" > "$new_env"
	fi
	for n in $known; do
		eval "value=\${SANDSTORM_$n-}"
		old=$(setting "SANDSTORM_$n" "$new_env")
		[ -z "$value" ] || add "SANDSTORM_$n" "$value"
		[ -z "$value" ] || [ "$value" = "${old:-$value}" ] ||
			say "SANDSTORM_$n stays $old as in $env_file; change it there and call this again"
	done
	[ "$user" = dev ] || [ "$user" = root ] || [ -z "$fresh" ] || add SANDSTORM_WORKSPACE_ROOT "/home/$user"
	for n in SANDSTORM_MCP_TOKEN MCP_AUTH_TOKEN SANDSTORM_MCP_TOKEN_FILE MCP_AUTH_TOKEN_FILE; do
		[ -z "$(setting $n "$new_env")" ] || return 0
	done
	[ -n "${SANDSTORM_MCP_TOKEN-}" ] || say "made a new token in $env_file"
	echo "SANDSTORM_MCP_TOKEN=${SANDSTORM_MCP_TOKEN:-$("$binary" token)}" >> "$new_env"
}

# In front of a new installation: Caddy for a domain where it can be had, else TLS of our own for all but loopback.
make_front() {
	domain=$(setting SANDSTORM_DOMAIN "$new_env")
	h=$(setting SANDSTORM_MCP_HOST "$new_env")
	caddy=
	[ -z "$domain" ] || [ -n "$(setting SANDSTORM_TLS_CERT "$new_env")" ] || ! packaged || caddy=1
	[ "$init" != procd ] || return 0		# there UCI tells it
	[ -z "$caddy$(setting SANDSTORM_TLS_CERT "$new_env")" ] || return 0
	if [ -z "$fresh" ]; then
		# what stands there may be meant, with a proxy on another machine
		is_loopback "${h:-127.0.0.1}" || [ -n "$domain$(setting SANDSTORM_PUBLIC_URL "$new_env")" ] ||
			say "$h is served without TLS: others can read the token on its way. For https call $bin cert --host" \
				"NAME,ADDRESS $tls, add SANDSTORM_TLS_CERT=$tls/server.pem and" \
				"SANDSTORM_TLS_KEY=$tls/server.key to $env_file and call this again"
	elif [ -n "$domain" ]; then
		add SANDSTORM_MCP_HOST 0.0.0.0
		p=$(setting SANDSTORM_MCP_PORT "$new_env")
		add SANDSTORM_PUBLIC_URL "https://$domain:${p:-8080}"
		say "there is no Caddy here: the server gets a certificate of its own"
		set_up_tls "$domain"
	elif ! is_loopback "${h:-127.0.0.1}"; then
		case $h in 0.0.0.0 | :: | \[::\]) h= ;; esac
		set_up_tls "$h"
	fi
}

# What the new program would refuse is found while the old one still serves.
check() {
	env -i PATH="$PATH" "$binary" serve --check --workspace-root / --env-file "$new_env" || {
		rm -f "$new_env"
		die "these settings would be refused, so nothing was changed: see $env_file"
	}
}

# ---- start, stop

put_files() {
	moved=		# to another address
	case $init in
	systemd)
		units=/etc/systemd/system
		print_service | put 644 $units/$name.service || :
		! print_socket | put 644 $units/$name.socket || moved=1 ;;
	openrc)
		print_run | put 755 "$lib/run" || :
		print_openrc | put 755 /etc/init.d/$name || : ;;
	busybox)
		print_run | put 755 "$lib/run" || :
		line=$(print_inittab)
		grep -qxF "$line" /etc/inittab 2> /dev/null || echo "$line" >> /etc/inittab ;;
	procd)
		print_procd | put 755 /etc/init.d/$name || :
		[ -e /etc/config/$name ] || print_uci | put 644 /etc/config/$name ;;
	esac
}

# busybox init starts anew what has ended; until then the old one might be taken for the new
stop_busybox() {
	pid=$(cat /run/$name.pid 2> /dev/null) || return 0
	tr '\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null | grep -qF "$bin " || return 0
	left=$(stop_limit)
	quiet kill "$pid" || return 0		# once: a second TERM would cut the grace short
	while quiet kill -0 "$pid" && [ "$left" -gt 0 ]; do
		sleep 1
		left=$((left - 1))
	done
}

# The socket stays open as long as its address does; only a server that holds the port itself has to go first.
start() {
	case $init in
	systemd)
		try systemctl daemon-reload
		try systemctl enable $name.socket $name.service
		if [ -n "$moved" ] || ! quiet systemctl is-active $name.socket; then
			try systemctl stop $name.service
			try systemctl restart $name.socket
		fi
		try systemctl restart $name.service ;;
	openrc)
		try rc-update add $name default
		try rc-service $name restart ;;
	busybox)
		kill -HUP 1
		stop_busybox ;;
	procd)
		try /etc/init.d/$name enable
		try /etc/init.d/$name restart ;;
	esac
}

ask() {
	set -- "$1" --env-file "$env_file" --mcp-host "$(host)" --mcp-port "$(port)"
	[ -z "$(certificate)" ] || set -- "$@" --tls-cert "$(certificate)"
	env -i PATH="$PATH" "$bin" health "$@"
}

answer() { ask /health && { [ -n "$(setting SANDSTORM_ALLOWED_HOSTS)" ] || ask /mcp; }; }	# which may not know our name for it
answers() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
		quiet answer && return
		sleep 1
	done
	answer
}

install() {
	find_binary
	make_settings
	check
	make_front
	check
	make_user
	mv "$new_env" "$env_file"
	[ "$init" = procd ] || make_workspace
	[ ! -e "$tls/server.key" ] || { chgrp "$(id -gn "$user")" "$tls" "$tls/server.key"; chmod 750 "$tls"; chmod 640 "$tls/server.key"; }
	put_files
	mkdir -p "$prefix/bin"
	cmp -s "$binary" "$bin" || {
		cp "$binary" "$bin.new"
		chmod 755 "$bin.new"
		[ ! -e "$bin" ] || cp -p "$bin" "$bin.previous"
		mv "$bin.new" "$bin"
	}
	start
	if ! answers; then
		[ ! -e "$bin.previous" ] || {
			mv "$bin.previous" "$bin"
			start
			say "the program that was here before runs again" >&2
		}
		die "the new server does not answer; its log tells why"
	fi
	rm -f "$bin.previous"
	[ -z "$caddy" ] || set_up_caddy "$domain"
	url=$(public_url)
	say "$("$bin" --version) serves $(workspace) at $url/mcp; the token is in $env_file"
	say "for a client: claude mcp add --transport http sandstorm $url/mcp (and give it the token on the page it opens)"
}

uninstall() {
	case $init in
	systemd)
		quiet systemctl disable --now $name.socket $name.service || :
		drop /etc/systemd/system/$name.service
		drop /etc/systemd/system/$name.socket
		systemctl daemon-reload ;;
	openrc)
		quiet rc-service $name stop || :
		quiet rc-update del $name || :
		drop /etc/init.d/$name ;;
	busybox)
		[ ! -e /etc/inittab ] || {
			grep -vxF "$(print_inittab)" /etc/inittab > /etc/inittab.new || :
			cat /etc/inittab.new > /etc/inittab
			rm /etc/inittab.new
		}
		kill -HUP 1
		stop_busybox
		rm -f /run/$name.pid ;;
	procd)
		[ ! -e /etc/init.d/$name ] || { /etc/init.d/$name stop; /etc/init.d/$name disable; }
		drop /etc/init.d/$name ;;
	esac
	drop_import
	drop "$snippet"
	! has caddy || case $init in
	systemd) quiet systemctl reload caddy ;;
	openrc) quiet rc-service caddy restart ;;
	esac || :
	drop "$lib/run"
	rm -f "$bin" "$bin.previous"
	if [ "$what" = purge ]; then
		rm -rf "$env_file" "$tls" "/etc/config/$name" "/var/log/$name.log" "/var/log/$name.log.1"
		[ ! -e "$lib/made-user" ] || quiet userdel "$user" || quiet deluser "$user" ||
			for f in /etc/passwd /etc/group /etc/shadow; do
				[ ! -e "$f" ] || sed -i "/^$user:/d" "$f"
			done
		rm -f "$lib/user" "$lib/made-user"
		say "removed; the workspace stays as it is: $root"
	else
		say "removed; the settings in $env_file and the workspace $root stay as they are"
	fi
	rmdir "$lib" 2> /dev/null || :
}

root=$(workspace)
case $what in
install) install ;;
*) uninstall ;;
esac
