/// The path of notified values between bluetoothd and this process.
package enum NotificationMethod: String, CaseIterable, Sendable {
    /// A socket of AcquireNotify. A peripheral sends values three times as fast as by signals. For a central,
    /// bluetoothd drops values while the socket is full (after about 270 values of a log), and values that arrive
    /// before the reply to the subscription.
    case socket
    /// D-Bus signals: StartNotify for a central, PropertiesChanged for a peripheral. No value is lost.
    case signals
}
