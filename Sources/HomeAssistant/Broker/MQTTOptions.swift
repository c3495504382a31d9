/// How a broker is spoken to.
public struct MQTTOptions: Hashable, Sendable {
    /// Where the broker is.
    public var address: MQTTAddress
    /// The same for ever: the broker keeps what comes for us while we are away under it.
    public var clientID: String
    /// Who we are.
    public var user: String?
    /// The password to that.
    public var password: String?
    /// Files in PEM. Without authorities those of the system are believed. A certificate and its key show who we are.
    public var authorities: String?
    /// Our certificate's file.
    public var certificate: String?
    /// Its key's file.
    public var key: String?
    /// What the broker says in our name when we are gone without a word.
    public var will: MQTTMessage?
    /// The broker forgets us with the end of the connection.
    public var isForNow = false
    /// Seconds without a word after which either side asks whether the other is there.
    public var keepAlive: Int32 = 30
    /// How long the broker may take for each answer.
    public var limit = Duration.seconds(15)

    /// Every default, under that name.
    public init(address: MQTTAddress, clientID: String) {
        (self.address, self.clientID) = (address, clientID)
    }
}
