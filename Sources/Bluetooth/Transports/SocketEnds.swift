/// Creates a central's connected socket, by a path in the file system or by L2CAP.
package protocol SocketDialer: Sendable {
    var name: String { get }
    var hasRadio: Bool { get }
    /// The peer, as far as it is known without a connection.
    func peer() throws(LinkError) -> Advertisement
    /// Starts to connect without blocking. The caller owns the non-blocking descriptor, which becomes writable when the
    /// result is known. `nil` if the peer's queue is full: retry later.
    func dial(_ peer: PeerID) throws(LinkError) -> Int32?
    func explain(_ error: Int32) -> LinkError
}

package protocol SocketListener: Sendable {
    var name: String { get }
    /// The address of the adapter; `nil` without a radio.
    var address: BluetoothAddress? { get }
    func listen(_ application: GATTApplication) throws(LinkError) -> ListeningSocket
    /// The central on an accepted descriptor, the `number`-th since the start.
    func central(_ descriptor: Int32, number: Int) -> CentralID
    /// Starts or stops advertising, on links that advertise in addition to the socket.
    func advertise(_ visible: Bool)
}

package struct ListeningSocket: Sendable {
    /// The non-blocking descriptor, which the caller owns.
    package let descriptor: Int32
    /// Removes the socket file, or stops advertising.
    package let withdraw: @Sendable () -> Void

    package init(descriptor: Int32, withdraw: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        self.withdraw = withdraw
    }
}
