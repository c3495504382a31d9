/// What is said at `<p>/bridge/health`, every ten minutes and after each connection.
struct BridgeHealth: Encodable, Hashable {
    /// Seconds since the service began to speak to a broker.
    var uptime: Int
    /// Connections so far.
    var connections: Int
    var published: Int
    var received: Int
    /// Sips that wait to be told.
    var waiting: Int
}
