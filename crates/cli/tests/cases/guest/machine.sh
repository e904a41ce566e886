# What runs in each machine of a network: it carries out what the test puts into /share/ask, and answers in /share/answers.
export PLUMB_STORE=off RSH='ssh -F /etc/ssh/plumb'
modprobe virtio_net
hostname "m$number"
echo 127.0.0.1 localhost >/etc/hosts
for other in 1 2 3; do echo "$network.$other m$other" >>/etc/hosts; done
ip link set lo up
ip address add "$network.$number/24" dev eth0
ip link set eth0 up
# The time of day of the second one is 3 s ahead of that of the first one.
date --set "+$((3 * (number - 1))) seconds"
cp /share/plumb /usr/local/bin/plumb
mkdir -p /run/sshd /root/.ssh
# A shell of a login by ssh reads it: what this machine has there may take many seconds in a guest.
: >/root/.bashrc
cp /share/host /etc/ssh/plumb_host
cp /share/user /etc/ssh/plumb_user
cp /share/user.pub /etc/ssh/plumb_authorized
cp /share/secret /etc/plumb_secret
chmod 600 /etc/ssh/plumb_* /etc/plumb_secret
cat >/etc/ssh/plumb <<END
Host *
User root
IdentityFile /etc/ssh/plumb_user
IdentitiesOnly yes
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
BatchMode yes
LogLevel ERROR
# The one of OpenSSH's choice takes a minute on an emulated processor that others use, too.
KexAlgorithms curve25519-sha256
END
cat >/etc/ssh/plumb_server <<END
HostKey /etc/ssh/plumb_host
AuthorizedKeysFile /etc/ssh/plumb_authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
UseDNS no
END
/usr/sbin/sshd -f /etc/ssh/plumb_server
# Its members work here.
mkdir /tmp/work
cd /tmp/work

# carry_out NAME: what it prints and its status, which is there once all else is.
carry_out() {
    bash "/share/ask/$1" >"/share/answers/$1.out" 2>"/share/answers/$1.err" </dev/null
    echo $? >"/share/answers/$1.new"
    mv "/share/answers/$1.new" "/share/answers/$1.status"
}

declare -A taken
mkfifo /tmp/never
exec 3<>/tmp/never
echo up >/share/answers/up
while :; do
    for ask in /share/ask/*; do
        name=${ask##*/}
        [ -e "$ask" ] && [ -z "${taken[$name]:-}" ] || continue
        taken[$name]=yes
        carry_out "$name" &
    done
    # Without a process, of which each takes a while here.
    read -rt 0.2 -u 3 _
done
