/// An error that says itself why a command ends with it, where that is more than what every surface tells apart.
package protocol HasExitReason: Error {
    var exitReason: ExitReason { get }
}
