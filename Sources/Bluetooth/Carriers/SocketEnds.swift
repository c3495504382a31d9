/// How a central gets a connected SEQPACKET socket: by a path in the file system, or by L2CAP.
package protocol SocketDialer: Sendable {
    /// For people, as `--link` names it.
    var name: String { get }
    var hasRadio: Bool { get }
    /// Who is at the other end, as far as that can be told without connecting.
    func look() throws(LinkError) -> Advertisement
    /// Starts connecting, without waiting. The descriptor is non-blocking and the caller's to close.
    func dial(_ peer: PeerID) throws(LinkError) -> SocketDial
    /// Why a connection could not be made, or was lost, by the system's number.
    func explain(_ error: Int32) -> LinkError
}

/// How far a connection has come.
package enum SocketDial: Sendable {
    case connected(Int32)
    /// The descriptor becomes writable when the outcome is known.
    case connecting(Int32)
    /// The other end has no room now: try again in a moment.
    case busy
}

/// Where a peripheral waits for connections on a SEQPACKET socket.
package protocol SocketListener: Sendable {
    /// For people, as `--link` names it.
    var name: String { get }
    /// Binds and listens. The descriptor is non-blocking and the caller's to close.
    func listen() throws(LinkError) -> Int32
    /// Names what `listen` made outside this process, so that `withdraw` removes nothing else.
    var mark: SocketMark? { get }
    /// After the descriptor was closed.
    func withdraw(_ mark: SocketMark?)
    /// Who is connected on an accepted descriptor, the `number`-th since the start.
    func central(_ descriptor: Int32, number: Int) -> CentralID
    /// Whether others should see the peripheral: for links that have an advertisement beside the socket.
    func advertise(_ visible: Bool)
}

/// A file in the file system, told apart from another of the same name.
package struct SocketMark: Hashable, Sendable {
    /// Number of the device (`st_dev`).
    package var device: UInt64
    /// Number of the file there (`st_ino`).
    package var file: UInt64

    package init(device: UInt64, file: UInt64) {
        self.device = device
        self.file = file
    }
}
