/// How a broker is spoken to.
package struct MQTTOptions: Hashable, Sendable {
    /// Where the broker is.
    package var address: MQTTAddress
    /// The same for ever: the broker keeps what comes for us while we are away under it.
    package var clientID: String
    /// Who we are.
    package var user: String?
    /// The password to that.
    package var password: String?
    /// Files in PEM. Without authorities those of the system are believed. A certificate and its key show who we are.
    package var authorities: String?
    /// Our certificate's file.
    package var certificate: String?
    /// Its key's file.
    package var key: String?
    /// What the broker says in our name when we are gone without a word.
    package var will: MQTTMessage?
    /// The broker forgets us with the end of the connection.
    package var isForNow = false
    /// Seconds without a word after which either side asks whether the other is there.
    package var keepAlive: Int32 = 30
    /// How long the broker may take for each answer.
    package var limit = Duration.seconds(15)

    /// Every default, under that name.
    package init(address: MQTTAddress, clientID: String) {
        (self.address, self.clientID) = (address, clientID)
    }
}
