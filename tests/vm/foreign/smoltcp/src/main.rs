// SPDX-License-Identifier: GPL-2.0-only

//! A guest with smoltcp's TCP on a tap, which sends or receives bytes and says their SHA-256.
//!
//!     smoltcp-guest TAP ADDRESS/BITS GATEWAY send|receive PEER PORT BYTES [CC]
//!
//! It connects to the peer.  CC is none, reno or cubic.  As a sender smoltcp uses no SACK blocks,
//! as a receiver it gives them.

use std::error::Error;
use std::os::unix::io::AsRawFd;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Medium, TunTapInterface, wait};
use smoltcp::socket::tcp::{self, CongestionControl, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, Ipv4Address};

const USAGE: &str =
    "usage: smoltcp-guest TAP ADDRESS/BITS GATEWAY send|receive PEER PORT BYTES [CC]";
/// A locally administered address.
const MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0x73, 1]);
/// Of both buffers: more than a path's BDP, so that the CC decides.
const BUFFER_BYTES: usize = 1 << 20;
/// How long it waits for packets where the stack names no time.
const IDLE: Duration = Duration::from_millis(100);
/// What a path in the lab may take before the peer's silence is a fault.
const SILENCE: Duration = Duration::from_secs(120);

type Failure = Box<dyn Error>;

struct Options {
    tap: String,
    address: IpCidr,
    gateway: Ipv4Address,
    send: bool,
    peer: Ipv4Address,
    port: u16,
    size_bytes: usize,
    cc: CongestionControl,
}

fn parse(words: &[String]) -> Result<Options, Failure> {
    if !(7..=8).contains(&words.len()) {
        return Err(USAGE.into());
    }
    let cc = match words.get(7).map_or("cubic", String::as_str) {
        "none" => CongestionControl::None,
        "reno" => CongestionControl::Reno,
        "cubic" => CongestionControl::Cubic,
        other => return Err(format!("'{other}' is none of: none, reno, cubic").into()),
    };
    Ok(Options {
        tap: words[0].clone(),
        address: words[1].parse().map_err(|()| "the address is wrong")?,
        gateway: words[2].parse()?,
        send: words[3] == "send",
        peer: words[4].parse()?,
        port: words[5].parse()?,
        size_bytes: words[6].parse()?,
        cc,
    })
}

/// Bytes that look random: Marsaglia's xorshift64.
struct Source(u64);

impl Source {
    fn fill(&mut self, room: &mut [u8]) {
        for byte in room {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            *byte = (self.0 >> 32) as u8;
        }
    }
}

/// What was moved, and its sum.
struct Progress {
    source: Source,
    sum: Sha256,
    left_bytes: usize,
}

impl Progress {
    /// Move what the socket takes or has now; close it at the end.
    fn step(&mut self, socket: &mut tcp::Socket, send: bool) -> Result<(), Failure> {
        while send && self.left_bytes > 0 && socket.can_send() {
            self.left_bytes -= socket.send(|room| {
                let count = room.len().min(self.left_bytes);
                self.source.fill(&mut room[..count]);
                self.sum.update(&room[..count]);
                (count, count)
            })?;
        }
        while !send && self.left_bytes > 0 && socket.can_recv() {
            self.left_bytes -= socket.recv(|data| {
                let count = data.len().min(self.left_bytes);
                self.sum.update(&data[..count]);
                (count, count)
            })?;
        }
        if self.left_bytes == 0 {
            socket.close();
        }
        Ok(())
    }
}

fn new_socket(cc: CongestionControl) -> tcp::Socket<'static> {
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER_BYTES]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    socket.set_congestion_control(cc);
    socket.set_timeout(Some(SILENCE));
    socket
}

fn transfer(options: &Options) -> Result<Vec<u8>, Failure> {
    let mut device = TunTapInterface::new(&options.tap, Medium::Ethernet)?;
    let fd = device.as_raw_fd();
    let mut config = Config::new(MAC.into());
    config.random_seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos() as u64;
    let local_port = 49152 + (config.random_seed >> 10) as u16 % 16384;
    let mut stack = Interface::new(config, &mut device, Instant::now());
    stack.update_ip_addrs(|all| all.push(options.address).expect("room for one address"));
    stack.routes_mut().add_default_ipv4_route(options.gateway)?;
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(new_socket(options.cc));
    let peer = (IpAddress::Ipv4(options.peer), options.port);
    sockets
        .get_mut::<tcp::Socket>(handle)
        .connect(stack.context(), peer, local_port)?;
    let mut progress = Progress {
        source: Source(0x9e37_79b9_7f4a_7c15),
        sum: Sha256::new(),
        left_bytes: options.size_bytes,
    };
    loop {
        stack.poll(Instant::now(), &mut device, &mut sockets);
        let socket = sockets.get_mut::<tcp::Socket>(handle);
        match socket.state() {
            State::SynSent => {}
            State::TimeWait | State::Closed => break,
            _ => progress.step(socket, options.send)?,
        }
        let now = Instant::now();
        let pause = stack.poll_delay(now, &sockets).unwrap_or(IDLE).min(IDLE);
        wait(fd, Some(pause))?;
    }
    match progress.left_bytes {
        0 => Ok(progress.sum.finalize().to_vec()),
        left => Err(format!("the connection ended {left} bytes before its end").into()),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match parse(&words).and_then(|options| transfer(&options)) {
        Ok(sum) => {
            let text: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            println!("{text}");
        }
        Err(failure) => {
            eprintln!("smoltcp-guest: {failure}");
            process::exit(1);
        }
    }
}
